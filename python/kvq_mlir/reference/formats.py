"""Formats of quantized tokens, and the text notation of `#kvq.format`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from .codes import Codebook, CodeType, FloatCodes
from .floats import FloatType
from .layout import Layout
from .ranges import Range
from .rules import Rule

SCALE_TYPES = ("f16", "bf16", "f32", "f8E8M0FNU", "f8E4M3FN")
MINIMUM_TYPES = ("f16", "bf16", "f32")
POINT_TYPES = ("i8", "ui8", "f16", "bf16", "f32")


@dataclass(frozen=True)
class Zero:
    """What code 0 means.

    `min`: the stored real number (of a float type). `point`: the stored zero point is the code, perhaps between two
    codes, that means 0; it is of a float type or an integer.
    """

    kind: str
    type: FloatType | CodeType

    KINDS = ("min", "point")

    def __str__(self) -> str:
        return f"{self.kind} {self.type}"


@dataclass(frozen=True)
class Format:
    """How a group of elements is represented.

    codes: the code type, or None for `codes = none` (everything exact; then the other fields are None).
    group: (tokens, channels); None means the whole axis (`*`), for tokens only with a static range. heads: how many heads
    share a scale too, each so many that follow each other; None means all.
    scale: type of the stored scale. outer: None, or the type (f32) of a given outer scale, by which the stored ones are
    multiplied (`f8E4M3FN of f32`). zero: None for symmetric codes. range: the range policy, as text.
    rotate: None, or how many consecutive channels a Hadamard rotation mixes, 0 for all. center: None, or the type of the given
    mean that is subtracted. rope: "post", or "pre" for keys that are stored before RoPE and turned when they are read;
    this alone does not contradict codes = none. rule: how scales, zeros and codes are found. layout: None, or how codes and metadata lie in
    bytes; no arithmetic depends on it.

    Raises ValueError if the fields contradict each other.
    """

    codes: CodeType | FloatCodes | Codebook | None
    group: tuple[int | None, int | None] | None = None
    scale: FloatType | None = None
    zero: Zero | None = None
    range: str | None = None
    outer: FloatType | None = None
    rotate: int | None = None
    center: FloatType | None = None
    heads: int | None = 1
    rule: Rule = Rule()
    layout: Layout | None = None
    rope: str = "post"

    def __post_init__(self) -> None:
        for name in ("rotate", "center"):
            if self.rope == "pre" and getattr(self, name) is not None:
                raise ValueError(f"'{name}' does not go with rope = pre: RoPE turns what is read")
        if self.codes is None:
            if self.heads != 1:
                raise ValueError("'heads' given, but codes = none stores elements exactly and has no heads")
            if self.rule != Rule():
                raise ValueError("'rule' given, but codes = none stores elements exactly and has no rule")
            for name in ("group", "scale", "zero", "range", "outer", "rotate", "center", "layout"):
                if getattr(self, name) is not None:
                    raise ValueError(f"'{name}' given, but codes = none stores elements exactly and has no {name}")
            return
        for name in ("group", "scale"):
            if getattr(self, name) is None:
                raise ValueError(f"codes = {self.codes} needs '{name}'")
        if self.range is None:
            object.__setattr__(self, "range", self._default_range())
        needs_zero = isinstance(self.codes, CodeType) and not self.codes.signed
        if self.zero is None and needs_zero:
            raise ValueError(f"unsigned codes {self.codes} need a zero, such as zero = min f16")
        if self.zero is not None and not needs_zero:
            raise ValueError(f"zero = {self.zero} needs unsigned codes, got {self.codes}")
        if self.zero is not None and isinstance(self.zero.type, CodeType):
            needed, held = self.codes.highest, 2 ** (self.zero.type.bits - self.zero.type.signed) - 1
            if held < needed:
                raise ValueError(
                    f"zero = {self.zero} holds zero points up to {held}, but those of {self.codes} reach {needed}"
                )
        object.__setattr__(self, "range", str(self.policy))
        self._check_range()

    def _check_range(self) -> None:
        kind = self.policy.kind
        if kind == ("minmax" if self.zero is None else "absmax"):
            raise ValueError(f"range = {self.range} does not fit {self._zero_text()}; use {self._default_range()}")
        if kind in ("rms", "norm") and not isinstance(self.codes, Codebook):
            raise ValueError(f"range = {self.range} needs a codebook, got codes = {self.codes}")
        if (kind == "static") != (self.group[0] is None):
            group = f"group = [{_size(self.group[0])}, {_size(self.group[1])}]"
            if kind == "static":
                raise ValueError(f"range = static needs group = [*, ...], got {group}")
            raise ValueError(f"{group} spans all tokens and needs a static range, got range = {self.range}")
        if isinstance(self.codes, Codebook) and self.scale.name == "f8E8M0FNU" and 0 not in self.codes.table:
            raise ValueError(f"scale = f8E8M0FNU has no zero, and codes = {self.codes} have no value 0")

    @property
    def policy(self) -> Range:
        """The range policy, parsed."""
        return Range.parse(self.range)

    def codes_for(self, dim: int, heads: int = 1) -> CodeType | FloatCodes | Codebook:
        """The codes of `heads` heads of `dim` elements: with range = norm the values depend on the group's size."""
        codes = replace(self.codes, ties=self.rule.ties)
        if isinstance(codes, CodeType):
            codes = replace(codes, full=self.rule.bounds == "full")
        if self.policy.kind != "norm":
            return codes
        return codes.over_root(self.group_heads(heads) * self.group[0] * self.channels(dim))

    def group_heads(self, heads: int) -> int:
        """h for `heads` heads; ValueError with both numbers if groups do not tile them."""
        group = heads if self.heads is None else self.heads
        if heads % max(group, 1):
            raise ValueError(f"{heads} heads are not divisible by the group's {group} heads")
        return group

    def _default_range(self) -> str:
        return "absmax" if self.zero is None else "minmax"

    def _zero_text(self) -> str:
        return "symmetric codes" if self.zero is None else f"zero = {self.zero}"

    @property
    def tokens(self) -> int:
        """n: how many tokens are quantized together. 1 where nothing is quantized or the range is static."""
        return 1 if self.group is None or self.group[0] is None else self.group[0]

    def channels(self, dim: int) -> int:
        """g for a row of `dim` elements; ValueError with both numbers if groups do not tile the row."""
        if self.group is None:
            raise ValueError("codes = none has no groups")
        channels = dim if self.group[1] is None else self.group[1]
        if dim < 1:
            raise ValueError(f"expected a head dim of at least 1, got {dim}")
        if dim % channels:
            raise ValueError(f"head dim {dim} is not divisible by the group's {channels} channels")
        if self.rotate is not None and dim % self.rotated(dim):
            raise ValueError(f"head dim {dim} is not divisible by the rotation's {self.rotate} channels")
        return channels

    def rotated(self, dim: int) -> int:
        """How many channels of a row of `dim` are rotated together, where they are."""
        return self.rotate or dim

    def __str__(self) -> str:
        if self.codes is None:
            return "codes = none" + (", rope = pre" if self.rope == "pre" else "")
        outer = "" if self.outer is None else f" of {self.outer}"
        parts = [f"codes = {self.codes}", f"group = [{_size(self.group[0])}, {_size(self.group[1])}]"]
        if self.heads != 1:
            parts.append(f"heads = {_size(self.heads)}")
        parts.append(f"scale = {self.scale}{outer}")
        if self.zero is not None:
            parts.append(f"zero = {self.zero}")
        if self.range != self._default_range():
            parts.append(f"range = {self.range}")
        if self.rotate is not None:
            parts.append(f"rotate = hadamard<{self.rotate or '*'}>")
        if self.center is not None:
            parts.append(f"center = {self.center}")
        if self.rope == "pre":
            parts.append("rope = pre")
        if self.rule != Rule():
            parts.append(f"rule = {self.rule}")
        if self.layout is not None:
            parts.append(f"layout = {self.layout}")
        return ", ".join(parts)

    @staticmethod
    def parse(text: str) -> Format:
        """Read the text between the angle brackets of `#kvq.format<...>`.

        Fields come in any order, each at most once: `codes = ui4, group = [32, 1], scale = f16, zero = min f16`.
        Raises ValueError saying what was expected and what was found.
        """
        fields = {}
        for part in _split_fields(text):
            name, equals, value = (s.strip() for s in part.partition("="))
            if not equals or not value:
                raise ValueError(f"expected 'field = value', got '{part.strip()}' in '{text}'")
            if name not in _FIELD_PARSERS:
                raise ValueError(f"unknown field '{name}', expected one of {', '.join(_FIELD_PARSERS)}")
            if name in fields:
                raise ValueError(f"field '{name}' is given twice in '{text}'")
            fields[name] = _FIELD_PARSERS[name](value)
        if "scale" in fields:
            fields["scale"], fields["outer"] = fields["scale"]
        if "codes" not in fields:
            raise ValueError(f"expected 'codes = ...' in '{text}'")
        return Format(**fields)


def _size(size: int | None) -> str:
    return "*" if size is None else str(size)


def _split_fields(text: str) -> list[str]:
    """Split at the commas that are outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[<") - (character in "]>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _parse_codes(value: str) -> CodeType | FloatCodes | Codebook | None:
    if value == "none":
        return None
    if value in FloatCodes.NAMES:
        return FloatCodes(FloatType.named(value))
    if match := re.fullmatch(r"#kvq\.codebook<(.*)>", value):
        return Codebook.parse(match[1])
    match = re.fullmatch(r"(u?)i([1-9][0-9]*)", value)
    if not match or int(match[2]) not in CodeType.WIDTHS:
        known = [str(CodeType(bits, signed)) for signed in (True, False) for bits in CodeType.WIDTHS]
        raise ValueError(
            f"unknown codes '{value}', expected one of {', '.join([*known, *FloatCodes.NAMES])}, "
            "#kvq.codebook<...>, none"
        )
    return CodeType(int(match[2]), signed=not match[1])


def _parse_group(value: str) -> tuple[int | None, int | None]:
    match = re.fullmatch(r"\[\s*(\*|[0-9]+)\s*,\s*(\*|[0-9]+)\s*\]", value)
    if not match:
        raise ValueError(f"expected group = [tokens, channels], got '{value}'")
    sizes = tuple(None if size == "*" else int(size) for size in match.groups())
    if 0 in sizes:
        raise ValueError(f"a group needs at least one token and one channel, got '{value}'")
    return sizes


def _parse_heads(value: str) -> int | None:
    if not re.fullmatch(r"\*|[1-9][0-9]*", value):
        raise ValueError(f"expected heads = number or heads = *, got '{value}'")
    return None if value == "*" else int(value)


def _parse_zero(value: str) -> Zero:
    kind, _, type_name = value.partition(" ")
    if kind not in Zero.KINDS or not type_name.strip():
        raise ValueError(f"unknown zero '{value}', expected one of {', '.join(k + ' <type>' for k in Zero.KINDS)}")
    name, known = type_name.strip(), MINIMUM_TYPES if kind == "min" else POINT_TYPES
    if name not in known:
        raise ValueError(f"unknown type '{name}' of zero = {kind}, expected one of {', '.join(known)}")
    return Zero(kind, CodeType(8, name == "i8") if name.endswith("i8") else FloatType.named(name))


def _parse_scale(value: str) -> tuple[FloatType, FloatType | None]:
    inner, of, outer = (s.strip() for s in value.partition(" of "))
    if inner not in SCALE_TYPES:
        raise ValueError(f"unknown type '{inner}' of the scale, expected one of {', '.join(SCALE_TYPES)}")
    if of and (inner, outer) != ("f8E4M3FN", "f32"):
        raise ValueError(f"unknown two-level scale '{value}', expected f8E4M3FN of f32")
    return FloatType.named(inner), FloatType.named(outer) if of else None


def _parse_rotate(value: str) -> int:
    match = re.fullmatch(r"hadamard<\s*(\*|[0-9]+)\s*>", value)
    if not match:
        raise ValueError(f"unknown rotation '{value}', expected hadamard<n> or hadamard<*>")
    if match[1] == "*":
        return 0
    size = int(match[1])
    if size < 2 or size & (size - 1):
        raise ValueError(f"hadamard<n> needs a power of two from 2 on, got {size}")
    return size


def _parse_center(value: str) -> FloatType:
    if value not in MINIMUM_TYPES:
        raise ValueError(f"unknown type '{value}' of the center, expected one of {', '.join(MINIMUM_TYPES)}")
    return FloatType.named(value)


def _parse_rope(value: str) -> str:
    if value not in ("post", "pre"):
        raise ValueError(f"expected rope = post or rope = pre, got '{value}'")
    return value


_FIELD_PARSERS: dict[str, Callable] = {
    "codes": _parse_codes,
    "group": _parse_group,
    "heads": _parse_heads,
    "scale": _parse_scale,
    "zero": _parse_zero,
    "range": str,
    "rotate": _parse_rotate,
    "center": _parse_center,
    "rope": _parse_rope,
    "rule": Rule.parse,
    "layout": Layout.parse,
}
