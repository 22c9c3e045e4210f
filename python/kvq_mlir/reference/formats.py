"""Formats of quantized tokens, and the text notation of `#kvq.format`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import ranges
from .codes import CodeType, FloatCodes
from .floats import FloatType


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
    group: (tokens, channels); channels None means the whole axis (`*`).
    scale: type of the stored scale. outer: None, or the type (f32) of a given outer scale, by which the stored ones are
    multiplied (`f8E4M3FN of f32`). zero: None for symmetric codes. range: the name of the range policy.

    Raises ValueError if the fields contradict each other.
    """

    codes: CodeType | FloatCodes | None
    group: tuple[int, int | None] | None = None
    scale: FloatType | None = None
    zero: Zero | None = None
    range: str | None = None
    outer: FloatType | None = None

    def __post_init__(self) -> None:
        if self.codes is None:
            for name in ("group", "scale", "zero", "range", "outer"):
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
                raise ValueError(f"zero = {self.zero} holds zero points up to {held}, but those of {self.codes} reach {needed}")
        if self.range not in ranges.POLICIES:
            raise ValueError(f"unknown range '{self.range}', expected one of {', '.join(ranges.POLICIES)}")
        if ranges.POLICIES[self.range].has_minimum != (self.zero is not None):
            raise ValueError(f"range = {self.range} does not fit {self._zero_text()}; use {self._default_range()}")

    def _default_range(self) -> str:
        return "absmax" if self.zero is None else "minmax"

    def _zero_text(self) -> str:
        return "symmetric codes" if self.zero is None else f"zero = {self.zero}"

    @property
    def tokens(self) -> int:
        """n: how many tokens share a scale; 1 where nothing is quantized."""
        return 1 if self.group is None else self.group[0]

    def channels(self, dim: int) -> int:
        """g for a row of `dim` elements; ValueError with both numbers if groups do not tile the row."""
        if self.group is None:
            raise ValueError("codes = none has no groups")
        channels = dim if self.group[1] is None else self.group[1]
        if dim < 1:
            raise ValueError(f"expected a head dim of at least 1, got {dim}")
        if dim % channels:
            raise ValueError(f"head dim {dim} is not divisible by the group's {channels} channels")
        return channels

    def __str__(self) -> str:
        if self.codes is None:
            return "codes = none"
        channels = "*" if self.group[1] is None else self.group[1]
        outer = "" if self.outer is None else f" of {self.outer}"
        parts = [f"codes = {self.codes}", f"group = [{self.group[0]}, {channels}]", f"scale = {self.scale}{outer}"]
        if self.zero is not None:
            parts.append(f"zero = {self.zero}")
        if self.range != self._default_range():
            parts.append(f"range = {self.range}")
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


def _split_fields(text: str) -> list[str]:
    """Split at the commas that are outside square brackets."""
    return re.split(r",(?![^\[]*\])", text)


def _parse_codes(value: str) -> CodeType | FloatCodes | None:
    if value == "none":
        return None
    if value in FloatCodes.NAMES:
        return FloatCodes(FloatType.named(value))
    match = re.fullmatch(r"(u?)i([1-9][0-9]*)", value)
    if not match or int(match[2]) not in CodeType.WIDTHS:
        known = [str(CodeType(bits, signed)) for signed in (True, False) for bits in CodeType.WIDTHS]
        raise ValueError(f"unknown codes '{value}', expected one of {', '.join([*known, *FloatCodes.NAMES])}, none")
    return CodeType(int(match[2]), signed=not match[1])


def _parse_group(value: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"\[\s*(\*|[0-9]+)\s*,\s*(\*|[0-9]+)\s*\]", value)
    if not match:
        raise ValueError(f"expected group = [tokens, channels], got '{value}'")
    if match[1] == "*":
        raise ValueError("group = [*, ...] spans all tokens and needs a static range, which the reference lacks")
    sizes = (int(match[1]), None if match[2] == "*" else int(match[2]))
    if 0 in sizes:
        raise ValueError(f"a group needs at least one token and one channel, got '{value}'")
    return sizes


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


_FIELD_PARSERS: dict[str, Callable] = {
    "codes": _parse_codes,
    "group": _parse_group,
    "scale": _parse_scale,
    "zero": _parse_zero,
    "range": str,
}
