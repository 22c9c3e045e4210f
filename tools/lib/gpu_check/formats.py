"""The formats that are checked: their bytes, and what these stand for, without kvq.

docs/Semantics.md has the rules: a row of codes of b bits has 8/b planes (R13), signed codes are two's complement, and a
code stands for itself times the scale of its token and head.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Format:
    """text: as IR has it. bits: of a code; 16 for values of f16, without scales. is_float: whether a code is an f8E4M3FN."""

    name: str
    text: str
    bits: int
    is_float: bool = False

    @property
    def is_exact(self) -> bool:
        return self.bits == 16

    @property
    def largest(self) -> float:
        """The largest code that is stored."""
        return 448.0 if self.is_float else float(2 ** (self.bits - 1) - 1)

    @property
    def code_mask(self) -> int:
        """What bits of random codes stay: of floats those below 2, so that none is a NaN."""
        return 0xBF if self.is_float else 0xFF

    def components(self, batch: int, heads: int, tokens: int, dim: int) -> list[tuple[tuple[int, ...], str]]:
        """The arrays that a cache is stored in, in order: shapes and types."""
        if self.is_exact:
            return [((batch, heads, tokens, dim), "f16")]
        return [((batch, heads, tokens, dim * self.bits // 8), "u8"), ((batch, heads, tokens, 1), "f16")]

    def bytes_per_token(self, heads: int, dim: int) -> int:
        return heads * (dim * self.bits // 8 + (0 if self.is_exact else 2))

    def decode(self, arrays: Any, parts: list[Any]) -> Any:
        """What (parts of) the arrays of a cache stand for, float64. arrays: of what package they are."""
        if self.is_exact:
            return arrays.cast(parts[0], "f64")
        codes, scales = arrays.cast(parts[0], "i64"), arrays.cast(parts[1], "f64")
        table = arrays.array(self.code_values, "f64")
        planes = [table[(codes >> shift) & (2**self.bits - 1)] for shift in range(0, 8, self.bits)]
        return arrays.xp.concatenate(planes, -1) * scales

    @cached_property
    def code_values(self) -> list[float]:
        """What each code stands for, by its bits, before the scale."""
        if self.is_float:
            return [_float8(code) for code in range(256)]
        half = 2 ** (self.bits - 1)
        return [float(code if code < half else code - 2 * half) for code in range(2 * half)]

    @cached_property
    def unit_scale(self) -> float:
        """The scale that random codes need for values of about 1."""
        values = [x for code, x in enumerate(self.code_values) if code & self.code_mask == code]
        return math.sqrt(len(values) / sum(x * x for x in values))


def _float8(code: int) -> float:
    """f8E4M3FN: four bits of exponent, three of mantissa, no infinity."""
    sign, exponent, mantissa = (-1 if code & 128 else 1), code >> 3 & 15, code & 7
    if code & 127 == 127:
        return math.nan
    return sign * (mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10))


def _token(codes: str) -> str:
    return f"codes = {codes}, group = [1, *], scale = f16"


FORMATS = {
    fmt.name: fmt
    for fmt in (
        Format("f16", "codes = none", 16),
        Format("fp8", _token("f8E4M3FN"), 8, is_float=True),
        Format("int8", _token("i8"), 8),
        Format("int4", _token("i4"), 4),
        Format("int2", _token("i2"), 2),
    )
}
