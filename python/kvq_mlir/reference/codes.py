"""What codes are: their width, the values they stand for, and how a quotient becomes one.

Every kind of code has

    bits              the width b
    dtype             the NumPy type of one unpacked code
    signed            whether codes are two's complement
    largest           N of the rules, the value that the end of a range falls on
    nearest(q)        the codes of float32 quotients that hold no NaN
    saturates(q)      where q is beyond the codes, so that `nearest` clamps it
    values(codes)     the float32 values of codes, exact
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .floats import FloatType


@dataclass(frozen=True)
class CodeType:
    """Integer codes of `bits` bits: symmetric if signed, starting at 0 if not."""

    bits: int
    signed: bool

    WIDTHS = (2, 3, 4, 5, 6, 8)

    @property
    def highest(self) -> int:
        """N of the rules: the largest code."""
        return 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1

    @property
    def lowest(self) -> int:
        """M of the rules: the smallest code that quantization produces."""
        return -self.highest if self.signed else 0

    @property
    def largest(self) -> float:
        return float(self.highest)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int8 if self.signed else np.uint8)

    def nearest(self, q: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(q), self.lowest, self.highest).astype(self.dtype)

    def saturates(self, q: np.ndarray) -> np.ndarray:
        rounded = np.rint(q)
        return (rounded < self.lowest) | (rounded > self.highest)

    def values(self, codes: np.ndarray) -> np.ndarray:
        return codes.astype(np.float32)

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}i{self.bits}"


@dataclass(frozen=True)
class FloatCodes:
    """Codes that are the bit patterns of a small floating-point type, in the low bits of a uint8."""

    type: FloatType

    NAMES = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
    signed = False
    dtype = np.dtype(np.uint8)

    @property
    def bits(self) -> int:
        return self.type.bits

    @property
    def largest(self) -> float:
        return self.type.largest

    def nearest(self, q: np.ndarray) -> np.ndarray:
        return self.type.nearest(q)

    def saturates(self, q: np.ndarray) -> np.ndarray:
        return self.type.overflows(q)

    def values(self, codes: np.ndarray) -> np.ndarray:
        return self.type.decode(codes)

    def __str__(self) -> str:
        return self.type.name
