"""Quantization of arrays, each function one compiled kernel per signature."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import _kvq
from .arguments import check_type, element_text, operand
from .compiler import kernel
from .format import DTYPES, Format
from .given import Given, stored_components
from .ir import values as _values_ir


def _operands(parts: dict[str, np.ndarray]) -> list[np.ndarray]:
    """As kernels take them: signs, which are those of all heads, as one row."""
    return [part.reshape(1, -1) if name == "signs" else part for name, part in parts.items()]


def _sharing(fmt: Format, heads: int) -> tuple[int, int] | None:
    """How many heads there are, and how many share metadata; None where each has its own."""
    group = fmt.group_heads(heads)
    return None if group == 1 else (heads, group)


@dataclass(frozen=True)
class Quantized:
    """What `quantize` makes of an array [batch, heads, tokens, dim].

    codes: int8 (signed) or uint8 of its shape, one code a byte. scales, zeros: [batch, heads/h, tokens/n, dim/g] in the
    format's types, for groups of h heads, n tokens and g channels, [1, heads/h, 1, dim/g] where the range is static;
    the bits of bf16 and of 8-bit floats as uint16 and uint8; zeros is None with symmetric codes. given: what was given,
    by name, [1, heads, 1, ...] each.
    """

    format: Format
    codes: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray | None
    given: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def packed(self) -> np.ndarray:
        """The codes as a cache stores them: uint8 [batch, heads, tokens, bytes], dim*bits/8 of them.

        With a layout that has the codes in records, these: scales and zeros are among the bytes then.
        """
        return next(iter(self.packed_components().values()))

    def packed_components(self) -> dict[str, np.ndarray]:
        """What a cache stores in packed components, uint8 [batch, heads, rows, bytes]: "codes", "records" or both.

        What a record skips is 0.
        """
        self._metadata()  # checks the parts
        batch, heads, tokens, dim = self.codes.shape
        rows, has_scales, has_zeros = _kvq.packed_rows(self.format.core, dim)
        metadata = (self.format.scale,) * has_scales + (self.format.zero_element,) * has_zeros
        inputs = [self.codes, *[self.scales] * has_scales, *[self.zeros] * has_zeros]
        out = {}
        for size, of_row, is_record in rows:
            shape = (batch, heads, -(-tokens // of_row), size)
            out["records" if is_record else "codes"] = np.zeros(shape, np.uint8)
        compiled = kernel(
            _values_ir.pack, self.format.core, dim, self.scales.shape[-1], metadata, tuple(size for size, *_ in rows)
        )
        compiled.invoke("pack", (*inputs, *out.values()))
        return out

    def _metadata(self) -> list[np.ndarray]:
        """What kernels take beside the codes; `Error` where the parts do not belong together."""
        if self.codes.ndim != 4:
            raise _kvq.Error(f"expected codes as [batch, heads, tokens, dim], got {self.codes.ndim} axes")
        if (self.zeros is None) != (self.format.zero is None):
            found = "missing" if self.zeros is None else "given"
            raise _kvq.Error(f"zeros are {found}, but the format is '{self.format}'")
        batch, heads, tokens, dim = self.codes.shape
        groups, sharing = dim // self.format.channels(dim), self.format.group_heads(heads)
        expected = (batch, heads // sharing, -(-tokens // self.format.tokens), groups)
        if self.format.is_static:
            expected = (1, heads // sharing, 1, groups)
        for name, part in (("scales", self.scales), ("zeros", self.zeros)):
            if part is not None and part.shape != expected:
                raise _kvq.Error(f"expected {name} of shape {list(expected)}, got {list(part.shape)}")
        metadata = {"scales": self.scales, "zeros": self.zeros} | self.given
        return _operands({name: part for name, part in metadata.items() if part is not None})


def quantize(x: np.ndarray, fmt: Format, given: Given | None = None) -> Quantized:
    """Quantizes x [batch, heads, tokens, dim], float16, bfloat16 or float32, which is also the element type.

    given: arrays by name that the format asks for, as a `Cache` takes them. Raises `Error`, a ValueError, for a wrong
    shape, for `codes = none`, with both numbers where groups do not divide the tokens or the row, and for what is given
    where `Cache` would; TypeError for another dtype.
    """
    element = element_text("x", x)
    check_type("fmt", fmt, Format)
    if x.ndim != 4:
        raise _kvq.Error(f"expected x as [batch, heads, tokens, dim], got {x.ndim} axes")
    if fmt.is_exact:
        raise _kvq.Error("codes = none keeps elements exact: there is nothing to quantize")
    batch, heads, tokens, dim = x.shape
    groups = dim // fmt.channels(dim)
    if tokens % fmt.tokens:
        raise _kvq.Error(f"{tokens} tokens do not fill groups of {fmt.tokens} tokens")
    type_ = fmt.rows_type(heads or fmt.heads or 1, dim)
    stored = dict(stored_components(fmt, type_, given))
    core, sharing = fmt.for_heads(heads).core, _sharing(fmt, heads)
    shape = (batch, heads // fmt.group_heads(heads), tokens // fmt.tokens, groups)
    computed = {
        name: np.empty(shape, DTYPES[kind])
        for name, kind in (("scales", fmt.scale), ("zeros", fmt.zero))
        if kind and name not in stored
    }
    metadata = computed | stored
    out = Quantized(fmt, np.empty(x.shape, fmt.code_dtype), metadata["scales"], metadata.get("zeros"), stored)
    compiled = kernel(_values_ir.quantize, core, fmt.rotated(dim), fmt.row_types(type_), sharing, dim, element)
    compiled.invoke("quantize", (operand(x), *_operands(stored), out.codes, *computed.values()))
    return out


def count_saturated(x: np.ndarray, z: Quantized) -> np.ndarray:
    """How many elements of x, which `quantize` made z of, their codes cannot hold: int64 [batch, heads].

    An element saturates if it is clamped to the outermost code: clipped and static ranges can do that. Where the range
    is static NaNs, whose code is 0, are counted too. Raises `Error`, a
    ValueError, where z does not have the shape of x; TypeError for another dtype.
    """
    element = element_text("x", x)
    check_type("z", z, Quantized)
    if x.shape != z.codes.shape:
        raise _kvq.Error(f"expected x of the codes' shape {list(z.codes.shape)}, got {list(x.shape)}")
    metadata = z._metadata()
    fmt, (_, heads, _, dim) = z.format, x.shape
    counts = np.zeros(x.shape[:2], np.int64)
    rows = fmt.row_types(fmt.rows_type(heads or fmt.heads or 1, dim))
    compiled = kernel(
        _values_ir.count_saturated, fmt.for_heads(heads).core, fmt.rotated(dim), rows, _sharing(fmt, heads), dim, element
    )
    compiled.invoke("count_saturated", (operand(x), *metadata, counts))
    return counts


def dequantize(z: Quantized) -> np.ndarray:
    """The float32 values of codes, in their shape: code * scale, plus the zero if there is one; rotated back, and the
    mean added, where the format says so.

    Raises `Error`, a ValueError, where the arrays do not have the shapes and types that `Quantized` says.
    """
    check_type("z", z, Quantized)
    metadata = z._metadata()
    fmt, (_, heads, _, dim) = z.format, z.codes.shape
    out = np.empty(z.codes.shape, np.float32)
    rows = fmt.row_types(fmt.rows_type(heads or fmt.heads or 1, dim))
    compiled = kernel(_values_ir.dequantize, fmt.for_heads(heads).core, fmt.rotated(dim), rows, _sharing(fmt, heads), dim)
    compiled.invoke("dequantize", (z.codes, *metadata, out))
    return out
