"""Floating-point types of elements, metadata and codes, by tables of all their values.

NumPy has no bf16 and no 8-bit floats: arrays of such a type hold bit patterns, uint16 for bf16 and uint8 for the
narrower ones; `FloatType.decode` gives their values. f16 and f32 arrays are float16 and float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class FloatType:
    """A binary floating-point type.

    The bit pattern is sign, exponent (biased by `bias`), mantissa. Exponent 0 holds zero and the subnormals. `last` is
    the pattern of the largest finite value, `nan` the NaN that is stored, or None where the type has none. A type that
    is only an exponent (`signed` false, no mantissa) has neither zero nor subnormals: exponent 0 is its smallest power
    of 2.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    last: int
    nan: int | None
    signed: bool = True

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def named(name: str) -> FloatType:
        """The type called `name`; ValueError if there is none."""
        if name not in TYPES:
            raise ValueError(f"unknown type '{name}', expected one of {', '.join(TYPES)}")
        return TYPES[name]

    @property
    def bits(self) -> int:
        return self.signed + self.exponent_bits + self.mantissa_bits

    @property
    def dtype(self) -> np.dtype:
        """The NumPy type of stored values: itself a float for f16 and f32, bit patterns otherwise."""
        if self.name in ("f16", "f32"):
            return np.dtype(f"float{self.bits}")
        return np.dtype(np.uint16 if self.bits > 8 else np.uint8)

    def value(self, pattern: int) -> float:
        """The exact value of a finite, non-negative pattern."""
        exponent, mantissa = divmod(pattern, 2**self.mantissa_bits)
        if exponent == 0 and self.signed:
            return mantissa * 2.0 ** (1 - self.bias - self.mantissa_bits)
        return (2**self.mantissa_bits + mantissa) * 2.0 ** (exponent - self.bias - self.mantissa_bits)

    @property
    def largest(self) -> float:
        """max(X) of the rules."""
        return self.value(self.last)

    @property
    def smallest_normal(self) -> float:
        """normal(X) of the rules."""
        return self.value(2**self.mantissa_bits) if self.signed else self.value(0)

    @property
    def unit(self) -> float:
        """unit(X) of the rules: the smallest positive value."""
        return self.value(1) if self.signed else self.value(0)

    @cached_property
    def table(self) -> np.ndarray:
        """All finite non-negative values, in float64, ascending: the value of pattern i is at i."""
        return np.array([self.value(pattern) for pattern in range(self.last + 1)])

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """Bit patterns of float32 values rounded once, to nearest even, saturating. NaN gives the stored NaN."""
        return self._signed(x, self._nearest_magnitude(x))

    def overflows(self, x: np.ndarray) -> np.ndarray:
        """Where rounding x to nearest even, with no bound on the exponent, passes the largest finite value."""
        step = self.largest - self.value(self.last - 1)
        middle = self.largest + step / 2
        magnitude = np.abs(np.asarray(x, np.float64))
        return magnitude >= middle if self.last % 2 else magnitude > middle

    def _nearest_magnitude(self, x: np.ndarray) -> np.ndarray:
        middles = (self.table[:-1] + self.table[1:]) / 2  # exact: float64 has room for one more bit
        magnitude = np.abs(np.asarray(x, np.float64))
        below = np.searchsorted(middles, magnitude, side="left")  # a tie counts as below its middle
        tie = middles[np.minimum(below, len(middles) - 1)] == magnitude
        return below + (tie & (below % 2 == 1))  # patterns are even where mantissas are

    def up(self, x: np.ndarray) -> np.ndarray:
        """Bit patterns of non-negative float32 values rounded up, saturating. NaN gives the stored NaN."""
        above = np.searchsorted(self.table, np.asarray(x, np.float64), side="left")
        pattern = np.where(np.isnan(x), self.nan, np.minimum(above, self.last))
        return pattern.astype(_pattern_dtype(self.bits))

    def _signed(self, x: np.ndarray, magnitude: np.ndarray) -> np.ndarray:
        pattern = magnitude + (np.signbit(x).astype(np.int64) << (self.bits - 1))
        if self.nan is not None:
            pattern = np.where(np.isnan(x), self.nan, pattern)
        elif np.isnan(x).any():
            raise ValueError(f"{self.name} has no NaN")
        return pattern.astype(_pattern_dtype(self.bits))

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Float32 values rounded to nearest even, saturating, as this type is stored; NaN stays NaN."""
        x = np.asarray(x, np.float32)
        if self.dtype.kind == "f":
            with np.errstate(under="ignore"):
                return np.clip(x, -np.float32(self.largest), np.float32(self.largest)).astype(self.dtype)
        return self.nearest(x)

    def decode(self, stored: np.ndarray) -> np.ndarray:
        """The float32 values of stored ones, exact; infinities and NaN included. TypeError for another dtype."""
        stored = np.asarray(stored)
        if stored.dtype != self.dtype:
            raise TypeError(f"expected {self.name} as {self.dtype}, got {stored.dtype}")
        if self.dtype.kind == "f":
            return stored.astype(np.float32)
        sign = 2 ** (self.bits - 1) if self.signed else 2**self.bits
        magnitude = stored.astype(np.int64) & (sign - 1)
        values = self.table[np.minimum(magnitude, self.last)]
        values = np.where(magnitude > self.last, np.nan, values)
        if self.name in ("bf16", "f8E5M2"):
            values = np.where(magnitude == self.last + 1, np.inf, values)
        return np.where(stored.astype(np.int64) & sign, -values, values).astype(np.float32)

    def cap(self, largest_code: float) -> np.float32:
        """Rule R5's cap: the largest value of this type whose product with `largest_code` is at most max(f32)."""
        bound = Fraction(TYPES["f32"].largest) / Fraction(float(largest_code))
        if bound >= Fraction(self.largest):
            return np.float32(self.largest)
        if self.name == "f32":
            cap = np.float32(float(bound))
            return cap if Fraction(float(cap)) <= bound else np.nextafter(cap, np.float32(0))
        # A float64 that rounded up to a value of the table would be that value itself: compare exactly around it.
        at = int(np.searchsorted(self.table, float(bound), side="right")) - 1
        return np.float32(self.table[at if Fraction(self.table[at]) <= bound else at - 1])


def _pattern_dtype(bits: int) -> type:
    return np.uint8 if bits <= 8 else np.uint16


TYPES = {
    t.name: t
    for t in (
        FloatType("f16", 5, 10, 15, 0x7BFF, 0x7E00),
        FloatType("bf16", 8, 7, 127, 0x7F7F, 0x7FC0),
        FloatType("f32", 8, 23, 127, 0x7F7FFFFF, 0x7FC00000),
        FloatType("f8E4M3FN", 4, 3, 7, 0x7E, 0x7F),
        FloatType("f8E5M2", 5, 2, 15, 0x7B, 0x7E),
        FloatType("f6E2M3FN", 2, 3, 1, 0x1F, None),
        FloatType("f6E3M2FN", 3, 2, 3, 0x1F, None),
        FloatType("f4E2M1FN", 2, 1, 1, 0x07, None),
        FloatType("f8E8M0FNU", 8, 0, 127, 0xFE, 0xFF, signed=False),
    )
}
