"""What codes are: their width, the values they stand for, and how a quotient becomes one.

Every kind of code has

    bits              the width b
    dtype             the NumPy type of one unpacked code
    signed            whether codes are two's complement
    lowest            M of the rules, the lowest value
    largest           N of the rules, the value that the end of a range falls on
    ties              which of two codes a number in their middle takes, see `Rule`
    nearest(q)        the codes of float32 quotients that hold no NaN
    saturates(q)      where q is beyond the codes, so that `nearest` clamps it
    values(codes)     the float32 values of codes, exact
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .floats import FloatType
from .rules import nearest_integer


@dataclass(frozen=True)
class CodeType:
    """Integer codes of `bits` bits: starting at 0 if unsigned; symmetric if signed, with -2^(b-1) too if `full`."""

    bits: int
    signed: bool
    ties: str = "even"
    full: bool = False

    WIDTHS = (2, 3, 4, 5, 6, 8)

    @property
    def highest(self) -> int:
        """N of the rules: the largest code."""
        return 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1

    @property
    def lowest(self) -> int:
        """M of the rules: the smallest code that quantization produces."""
        return -self.highest - self.full if self.signed else 0

    @property
    def largest(self) -> float:
        return float(self.highest)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int8 if self.signed else np.uint8)

    def nearest(self, q: np.ndarray) -> np.ndarray:
        return np.clip(nearest_integer(q, self.ties, self.lowest), self.lowest, self.highest).astype(self.dtype)

    def saturates(self, q: np.ndarray) -> np.ndarray:
        rounded = nearest_integer(q, self.ties, self.lowest)
        return (rounded < self.lowest) | (rounded > self.highest)

    def values(self, codes: np.ndarray) -> np.ndarray:
        return codes.astype(np.float32)

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}i{self.bits}"


@dataclass(frozen=True)
class FloatCodes:
    """Codes that are the bit patterns of a small floating-point type, in the low bits of a uint8."""

    type: FloatType
    ties: str = "even"

    NAMES = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
    signed = False
    dtype = np.dtype(np.uint8)

    @property
    def bits(self) -> int:
        return self.type.bits

    @property
    def lowest(self) -> float:
        return -self.type.largest

    @property
    def largest(self) -> float:
        return self.type.largest

    def nearest(self, q: np.ndarray) -> np.ndarray:
        if self.ties == "even":
            return self.type.nearest(q)
        middles = (self.type.table[:-1] + self.type.table[1:]) / 2
        magnitude = np.searchsorted(middles, np.abs(q.astype(np.float64)), side="left")  # a tie is below its middle
        sign = (q < 0).astype(np.int64) << (self.bits - 1)
        return np.where(magnitude > 0, magnitude + sign, 0).astype(self.dtype)

    def saturates(self, q: np.ndarray) -> np.ndarray:
        if self.ties == "even":
            return self.type.overflows(q)
        step = self.largest - self.type.value(self.type.last - 1)
        return np.abs(q.astype(np.float64)) > self.largest + step / 2

    def values(self, codes: np.ndarray) -> np.ndarray:
        return self.type.decode(codes)

    def __str__(self) -> str:
        return self.type.name


@dataclass(frozen=True)
class Codebook:
    """Codes that are indices into a table of 2^bits float32 values in ascending order.

    text: what stands between the angle brackets of `#kvq.codebook<...>`.
    """

    text: str
    table: tuple[float, ...]
    ties: str = "even"

    signed = False
    dtype = np.dtype(np.uint8)
    SIZES = (2, 4, 8, 16, 32, 64, 256)

    def __post_init__(self) -> None:
        if len(self.table) not in self.SIZES:
            sizes = ", ".join(map(str, self.SIZES))
            raise ValueError(f"a codebook needs {sizes} values, got {len(self.table)}")
        table = np.array(self.table, np.float32)
        object.__setattr__(self, "table", tuple(table.tolist()))
        if not np.isfinite(table).all() or not np.all(table[1:] > table[:-1]):
            raise ValueError(f"a codebook's values must be finite and ascending, got {list(self.table)}")

    @staticmethod
    def parse(text: str) -> Codebook:
        """Read `nf4`, `iq4_nl`, `lloyd_max = 3` or `values = [-1.0, 1.0]`."""
        text = text.strip()
        if text in ("nf4", "iq4_nl"):
            return Codebook(text, NF4 if text == "nf4" else IQ4_NL)
        name, _, argument = (part.strip() for part in text.partition("="))
        if name == "lloyd_max":
            if argument not in ("1", "2", "3", "4"):
                raise ValueError(f"lloyd_max needs 1, 2, 3 or 4 bits, got '{argument}'")
            half = LLOYD_MAX[int(argument)]
            return Codebook(f"lloyd_max = {argument}", (*(-v for v in reversed(half)), *half))
        if name == "values" and argument.startswith("[") and argument.endswith("]"):
            try:
                table = tuple(float(v) for v in argument[1:-1].split(","))
            except ValueError:
                raise ValueError(f"expected values = [number, ...], got '{text}'") from None
            return Codebook(f"values = [{', '.join(map(str, table))}]", table)
        known = "nf4, iq4_nl, lloyd_max = <bits>, values = [<numbers>]"
        raise ValueError(f"unknown codebook '{text}', expected one of {known}")

    def over_root(self, count: int) -> Codebook:
        """The codebook whose values are these divided by the float32 square root of `count`."""
        table = np.array(self.table, np.float32) / np.sqrt(np.float32(count))
        return Codebook(self.text, tuple(table.tolist()), self.ties)

    @property
    def bits(self) -> int:
        return len(self.table).bit_length() - 1

    @property
    def lowest(self) -> float:
        return self.table[0]

    @property
    def largest(self) -> float:
        return max(abs(v) for v in self.table)

    def nearest(self, q: np.ndarray) -> np.ndarray:
        middles = [(Fraction(a) + Fraction(b)) / 2 for a, b in itertools.pairwise(self.table)]
        if self.ties == "up":
            thresholds = np.array([-_round_down(-t) for t in middles], np.float32)
            return np.searchsorted(thresholds, q, side="right").astype(self.dtype)  # how many are not above q
        thresholds = np.array([_round_down(t) for t in middles], np.float32)
        return np.searchsorted(thresholds, q, side="left").astype(self.dtype)  # how many thresholds are below q

    def saturates(self, q: np.ndarray) -> np.ndarray:
        low, high = (Fraction(end) for end in (self.table[0], self.table[-1]))
        above = high + (high - Fraction(self.table[-2])) / 2
        below = low - (Fraction(self.table[1]) - low) / 2
        return (q > _round_down(above)) | (q < -_round_down(-below))

    def values(self, codes: np.ndarray) -> np.ndarray:
        return np.array(self.table, np.float32)[codes]

    def __str__(self) -> str:
        return f"#kvq.codebook<{self.text}>"


def _round_down(x: Fraction) -> np.float32:
    """The largest float32 that is not above x: a float32 is above x if and only if it is above this one."""
    rounded = np.float32(float(x))
    while Fraction(float(rounded)) > x:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return rounded


# 4-bit NormalFloat, as published with QLoRA: each is a float32 in full.
NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
# ggml's kvalues_iq4nl.
IQ4_NL = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
# Lloyd-Max quantizers of a normal source with variance 1, by bits: the positive half, to six decimals by definition.
LLOYD_MAX = {
    1: (0.797885,),
    2: (0.452780, 1.510418),
    3: (0.245094, 0.756005, 1.343909, 2.151946),
    4: (0.128395, 0.388048, 0.656759, 0.942340, 1.256231, 1.618046, 2.069017, 2.732590),
}
