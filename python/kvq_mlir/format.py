"""Formats: how the elements of a cache are represented."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _kvq

# NumPy has no bf16 and no floats of 8 bits: arrays of these hold bit patterns.
DTYPES = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(np.uint16),
    "f8E8M0FNU": np.dtype(np.uint8),
    "f8E4M3FN": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
}


class Component(NamedTuple):
    """One array that a cache is stored in; `given` ones are given when it is made, and never written."""

    name: str
    shape: tuple[int, ...]
    element: str
    alignment: int
    given: bool


class Format:
    """A `#kvq.format`, such as "codes = ui4, group = [32, 1], scale = f16, zero = min f16".

    str() gives the canonical text; formats are equal, and hash alike, if their canonical texts are. Raises `Error`, a
    ValueError, for text that is no format.
    """

    __slots__ = ("_fields", "_text")

    def __init__(self, text: str | Format) -> None:
        self._text, self._fields = _kvq.parse_format(str(text))

    @staticmethod
    def preset(name: str) -> Format | Segments:
        """The format in which an engine stores its caches, such as "ggml.q4_0": see docs/Presets.md.

        `Segments` where parts of a row are stored in several ways. Raises `Error`, a ValueError, with the nearest names,
        if there is none of that name.
        """
        return parse_attribute(_kvq.preset_attribute(name))

    @staticmethod
    def of(
        *,
        codes: str,
        group: tuple[int | None, int | None] | None = None,
        heads: int | str | None = None,
        scale: str | None = None,
        zero: str | None = None,
        range: str | None = None,
        rotate: str | None = None,
        center: str | None = None,
        rope: str | None = None,
        rule: str | None = None,
        layout: str | None = None,
    ) -> Format:
        """The format with these fields, each as in text: `Format.of(codes="ui4", group=(32, 1), scale="f16", ...)`.

        group: tokens and channels, None for a whole axis. heads: a number, or "*" for all. None leaves a field out.
        Raises `Error`, a ValueError, where fields do not go together.
        """
        fields = dict(locals())
        if group is not None:
            fields["group"] = "[{}, {}]".format(*("*" if extent is None else extent for extent in group))
        return Format(", ".join(f"{name} = {value}" for name, value in fields.items() if value is not None))

    @property
    def attribute(self) -> str:
        """The attribute in MLIR, "#kvq.format<...>"."""
        return f"#kvq.format<{self}>"

    @property
    def formats(self) -> tuple[Format]:
        """The format of all channels: itself."""
        return (self,)

    @property
    def is_exact(self) -> bool:
        """True for `codes = none`: elements kept as they are."""
        return self._fields["bits"] == 0

    @property
    def has_integer_codes(self) -> bool:
        """Whether a code stands for an integer, signed or not, before scale and zero apply."""
        return self._fields["integers"]

    @property
    def has_fp8_codes(self) -> bool:
        """Whether a code is a float that tensor cores multiply as it is: f8E4M3FN or f8E5M2."""
        return self._fields["codes"] in ("f8E4M3FN", "f8E5M2")

    @property
    def bits(self) -> int:
        """Bits of a code; 0 if exact."""
        return self._fields["bits"]

    @property
    def signed(self) -> bool:
        """Whether codes are signed integers, symmetric round zero; false if exact."""
        return self._fields["signed"]

    @property
    def codes(self) -> str:
        """The codes as written: "i4", "ui8", "f8E4M3FN", "#kvq.codebook<nf4>", "none" ..."""
        return self._fields["codes"]

    @property
    def group(self) -> tuple[int, int | None] | None:
        """(tokens, channels) that share a scale; None for a whole axis (`*`): all tokens, all channels. None if exact."""
        if self.is_exact:
            return None
        return None if self.is_static else self._fields["tokens"], self._fields["channels"]

    @property
    def tokens(self) -> int:
        """Tokens that are quantized together; 1 if exact, and where the range is static."""
        return self._fields["tokens"]

    @property
    def is_static(self) -> bool:
        """Whether scales and zeros are given, one row of them for all tokens of a head."""
        return self._fields["static"]

    @property
    def heads(self) -> int | None:
        """KV heads that share a scale; None for all (`*`). 1 if exact."""
        return self._fields["heads"]

    def group_heads(self, kv_heads: int) -> int:
        """KV heads that share a scale, of `kv_heads`; `Error`, a ValueError, with both numbers, if they do not divide."""
        group = kv_heads if self.heads is None else self.heads
        if kv_heads % group:
            raise _kvq.Error(f"group of {group} heads does not divide {kv_heads} KV heads")
        return group

    def for_heads(self, kv_heads: int) -> Format:
        """The format with all heads as a number: that of one head's tokens, where it may matter how many share a scale."""
        return self if self.heads is not None else Format(self._text.replace("heads = *", f"heads = {kv_heads}"))

    @property
    def scale(self) -> str | None:
        """The type of the scale: "f16", "bf16", "f32", "f8E8M0FNU" or "f8E4M3FN"; None if exact."""
        return self._fields["scale"]

    @property
    def outer_scale(self) -> str | None:
        """The type, "f32", of the given scale that the others are multiplied by; None where there is none."""
        return self._fields["outer"]

    @property
    def center(self) -> str | None:
        """The type of the given mean that is subtracted before all else: "f16", "bf16" or "f32"; None without."""
        return self._fields["center"]

    @property
    def rotation(self) -> int | None:
        """Channels that a Hadamard rotation mixes before quantization; None for all of a row, 0 without."""
        return self._fields["rotation"]

    def rotated(self, head_dim: int) -> int:
        """`rotation`, in rows of `head_dim`."""
        return head_dim if self.rotation is None else self.rotation

    @property
    def is_before_rope(self) -> bool:
        """Whether keys are stored before RoPE (`rope = pre`), and turned as attention reads them."""
        return self._fields["rope"] == "pre"

    @property
    def core(self) -> str:
        """The text of the format of what is quantized: without center and rotation, which act before, and RoPE."""
        return self._fields["core"]

    @property
    def zero(self) -> str | None:
        """The type of the zero, such as "f16" or "ui8"; None for symmetric codes and if exact."""
        return self._fields["zero"]

    @property
    def zero_kind(self) -> str | None:
        """"min" if the zero is the real minimum, "point" if it is a zero point, None without one."""
        return self._fields["zero_kind"]

    @property
    def zero_element(self) -> str | None:
        """The type of zeros in tensors: that of the zero, but "i8" for "ui8"."""
        return self._fields["zero_element"]

    @property
    def range(self) -> str | None:
        """How the range of a group is taken: "absmax", "minmax", "clip", "search", "rms", "norm" or "static"; None if
        exact."""
        return self._fields["range"]

    @property
    def layout(self) -> str | None:
        """How codes and metadata lie in bytes, "#kvq.layout<...>"; None if nothing is said: planar. "auto" where it is
        chosen for the cache."""
        return self._fields["layout"]

    @property
    def has_open_layout(self) -> bool:
        """Whether the layout is chosen when a cache is made (`layout = auto`)."""
        return self.layout == "auto"

    def channels(self, head_dim: int) -> int:
        """Channels that share a scale in rows of `head_dim`.

        Raises `Error`, a ValueError, with both numbers, if groups do not divide the row or its codes do not fill whole
        bytes.
        """
        # The type's own check.
        self.components(_rows_type(self, self.tokens, self.heads or 1, head_dim))
        return self._fields["channels"] or head_dim

    def rows_type(self, kv_heads: int, head_dim: int) -> str:
        """The type of a cache of one sequence for rows of this format alone, codes and metadata apart."""
        return _rows_type(self._fields["planar"], self.tokens, kv_heads, head_dim)

    def components(self, cache_type: str, capacity: int = 0, pages: int | None = None) -> list[Component]:
        """What a cache of a type with this format is stored in; `Error` where the type is not valid."""
        return [Component(*component) for component in _kvq.cache_components(cache_type, capacity, pages)]

    def with_group(self, tokens: int, channels: int | None, scale: str) -> Format:
        """The same codes and zeros, of as many channels rotated and centred, for groups of this shape, with their
        default range and another scale."""
        tail = f", zero = {self.zero_kind} {self.zero}" if self.zero else ""
        tail += "" if self.rotation == 0 else f", rotate = hadamard<{self.rotation or '*'}>"
        tail += f", center = {self.center}" if self.center else ""
        tail += ", rope = pre" if self.is_before_rope else ""
        tail += "" if self.heads == 1 else f", heads = {self.heads or '*'}"
        return Format(f"codes = {self.codes}, group = [{tokens}, {channels or '*'}], scale = {scale}{tail}")

    def row_types(self, cache_type: str) -> tuple[tuple[str, int, str, bool], ...]:
        """What goes with codes: name, elements in a row, their type, and whether it is given. Empty if exact."""
        return tuple(
            (component.name, component.shape[3], component.element, component.given)
            for component in self.components(cache_type)
            if component.name in ("scales", "zeros") or component.given
        )

    def dtype(self, component: Component) -> np.dtype:
        """NumPy's type of a component. Integers in tensors have no sign, zero points have."""
        return DTYPES[self.zero if component.name == "zeros" else component.element]

    @property
    def code_dtype(self) -> np.dtype:
        """NumPy's type of a code, one a byte: of a float code the bits, of a codebook's the index."""
        return np.dtype(np.int8 if self.signed else np.uint8)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Format({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Format) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)


def _rows_type(fmt: Format | str, tokens: int, kv_heads: int, head_dim: int) -> str:
    recent = ", recent = 0" if tokens > 1 else ""
    return f"!kvq.cache<1x{kv_heads}x?x{head_dim}xf32, #kvq.format<{fmt}>{recent}>"


def parse_attribute(text: str) -> Format | Segments:
    """What "#kvq.format<...>" or "#kvq.segments<...>" is."""
    prefix, _, rest = text.partition("<")
    return {"#kvq.format": Format, "#kvq.segments": Segments}[prefix](rest.removesuffix(">"))


def read_format(text: str) -> Format | Segments:
    """A format, segments of channels ("[0:32] = …, [32:64] = …"), or the name of a preset. Raises `Error`, a ValueError,
    for anything else."""
    if text.lstrip().startswith("["):
        return Segments(text)
    return Format(text) if "=" in text else Format.preset(text)


class Segments:
    """Formats of ranges of channels: `#kvq.segments`, such as "[0:512] = #kvq.format<...>, [512:576] = none".

    With "row = [codes.0, scale.0, values.1]" behind the ranges all of them lie in one record for each token.

    Attributes: parts, for each segment (begin, end, Format). str() gives the canonical text; segments are equal, and hash
    alike, if their canonical texts are. Raises `Error`, a ValueError, for text that is none: segments that overlap or
    leave a gap, say.
    """

    __slots__ = ("_text", "parts")

    is_exact = False  # one of the segments has codes

    def __init__(self, text: str | Segments) -> None:
        self._text, parts = _kvq.parse_segments(str(text))
        ends = [end for end, _ in parts]
        self.parts = tuple(
            (begin, end, Format(fmt)) for begin, (end, fmt) in zip([0, *ends[:-1]], parts, strict=True)
        )

    @property
    def has_integer_codes(self) -> bool:
        """Whether a segment has integer codes."""
        return any(fmt.has_integer_codes for _, _, fmt in self.parts)

    @property
    def has_open_layout(self) -> bool:
        """Whether the layout of a segment is chosen when a cache is made."""
        return any(fmt.has_open_layout for fmt in self.formats)

    @property
    def attribute(self) -> str:
        """The attribute in MLIR, "#kvq.segments<...>"."""
        return f"#kvq.segments<{self}>"

    @property
    def is_before_rope(self) -> bool:
        """Whether some segment holds keys before RoPE."""
        return any(fmt.is_before_rope for _, _, fmt in self.parts)

    @property
    def formats(self) -> tuple[Format, ...]:
        """The format of each segment."""
        return tuple(fmt for _, _, fmt in self.parts)

    @property
    def tokens(self) -> int:
        """Tokens that share a scale, in the segments with codes."""
        return max(fmt.tokens for _, _, fmt in self.parts)

    def components(self, cache_type: str, capacity: int = 0, pages: int | None = None) -> list[Component]:
        """What a cache of a type with these segments is stored in; `Error` where the type is not valid."""
        return [Component(*component) for component in _kvq.cache_components(cache_type, capacity, pages)]

    def dtype(self, component: Component) -> np.dtype:
        """NumPy's type of a component, that of its segment."""
        name, _, segment = component.name.partition(".")
        if not segment:  # the row of all segments
            return DTYPES[component.element]
        return self.parts[int(segment)][2].dtype(component._replace(name=name))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Segments({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Segments) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)
