"""Other rules for scales, zeros and codes than the default one (rule R28)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from .floats import FloatType

# The fields that hold a keyword, each with its values, the default first.
KEYWORDS = {
    "ties": ("even", "away", "up", "lower"),
    "quotient": ("divide", "reciprocal", "fused"),
    "metadata": ("stored", "unrounded"),
    "bounds": ("symmetric", "full"),
    "extremum": ("absolute", "signed"),
    "span": ("with_zero", "elements"),
    "scale": ("covering", "nearest", "exponent"),
    "fit": ("none", "end", "squares"),
    "precision": ("f32", "f16", "bf16"),
}

_F32_LARGEST = np.float32(FloatType.named("f32").largest)
_ZERO = np.float32(0)


@dataclass(frozen=True)
class Rule:
    """The fields of `#kvq.rule`; `least` and `constant` are None where there is none."""

    ties: str = "even"
    quotient: str = "divide"
    metadata: str = "stored"
    bounds: str = "symmetric"
    extremum: str = "absolute"
    span: str = "with_zero"
    scale: str = "covering"
    least: float | None = None
    constant: float | None = None
    fit: str = "none"
    precision: str = "f32"

    @staticmethod
    def parse(text: str) -> Rule:
        """Read `#kvq.rule<ties = up, least = 1.0e-6>`; ValueError saying what was expected and what was found."""
        inner = text.strip().removeprefix("#kvq.rule<").removesuffix(">")
        if text.strip() != f"#kvq.rule<{inner}>":
            raise ValueError(f"expected #kvq.rule<...>, got '{text}'")
        found = {}
        for part in inner.split(",") if inner.strip() else []:
            name, _, value = (s.strip() for s in part.partition("="))
            if name in ("least", "constant"):
                found[name] = float(np.float32(value))
            elif value not in KEYWORDS.get(name, ()):
                raise ValueError(f"unknown field '{part.strip()}' of a rule, expected one of {KEYWORDS}")
            else:
                found[name] = value
        return Rule(**found)

    def __str__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return f"#kvq.rule<{', '.join(f'{name} = {value}' for name, value in given.items())}>"

    def round(self, x: np.ndarray) -> np.ndarray:
        """x as `precision` has it."""
        kind = FloatType.named(self.precision)
        return x if self.precision == "f32" else kind.decode(kind.encode(x))

    def quotient_of(self, x: np.ndarray, scale: np.ndarray, point: np.ndarray | None) -> np.ndarray:
        """x over a usable scale, plus the zero point where there is one."""
        if self.quotient == "divide":
            q = self.round(x / scale)
        else:
            reciprocal = self.round(np.clip(np.float32(1) / scale, -_F32_LARGEST, _F32_LARGEST))
            if self.quotient == "fused":
                return self.round(_fma(x, reciprocal, point))
            q = self.round(x * reciprocal)
        return q if point is None else self.round(q + point)

    def scale_of(self, extent: np.ndarray, divisor: float) -> np.ndarray:
        """The float32 scale of groups that span `extent`, before it is fitted and stored."""
        scale = self.round(extent / np.float32(divisor))
        if self.least is not None:
            scale = np.where(scale < np.float32(self.least), np.float32(self.least), scale)
        if self.constant is not None:
            scale = np.where(scale == 0, np.float32(self.constant), scale)
        return scale

    def fitted_end(self, scale: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(scale, minimum) that meet the end farther from zero by a whole number of steps."""
        by_low = np.abs(low) > np.abs(high)
        scale, end = np.where(by_low, scale, -scale), np.where(by_low, low, high)
        steps = nearest_integer(end / scale, self.ties, 0)
        none = steps == 0
        fitted = end / np.where(none, np.float32(1), steps)
        return np.where(none, scale, fitted), np.where(none, _ZERO, end)


def nearest_integer(q: np.ndarray, ties: str, lowest: int) -> np.ndarray:
    """The integers nearest to float32 numbers, as float32."""
    if ties == "away":
        whole = np.trunc(q)
        up = np.abs(q - whole) >= np.float32(0.5)
        return np.where(up, whole + np.copysign(np.float32(1), q), whole)
    if ties == "up":
        return np.floor(q + np.float32(0.5 - lowest)) + np.float32(lowest)
    return np.rint(q)


def fitted_squares(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The scales of [..., n] elements coded as `values` with the least error weighted by x^2, [...]."""
    top, bottom = np.zeros_like(x[..., 0]), np.zeros_like(x[..., 0])
    for i in range(x.shape[-1]):
        weighted = x[..., i] * x[..., i] * values[..., i]
        top, bottom = top + weighted * x[..., i], bottom + weighted * values[..., i]
    none = bottom == 0
    return np.where(none, _ZERO, top / np.where(none, np.float32(1), bottom))


def exponent(extent: np.ndarray, largest: float) -> np.ndarray:
    """The f8E8M0FNU pattern of the exponent of `extent` less that of `largest`."""
    _, exponents = np.frexp(np.clip(extent, 0, _F32_LARGEST))  # extent = m 2^exponent with 1/2 <= m < 1
    pattern = np.clip(exponents - 1 - (np.frexp(largest)[1] - 1) + 127, 0, 254)
    return np.where(np.isnan(extent), 255, np.where(extent == 0, 0, pattern)).astype(np.uint8)


def _fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """round_f32(x y + z): the sum in float64 is rounded to odd, after which rounding again is as rounding once."""
    product, z = x.astype(np.float64) * y.astype(np.float64), np.asarray(z, np.float64)
    total = product + z
    rest = total - product
    error = (product - (total - rest)) + (z - rest)
    odd = total.view(np.int64) % 2 == 1
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where((error == 0) | odd | ~np.isfinite(total), total, np.nextafter(total, toward)).astype(np.float32)
