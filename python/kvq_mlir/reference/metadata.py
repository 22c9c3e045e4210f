"""Scales and zeros: from the range of a group to what is stored, and back (rules R3 to R7 and R16 to R18)."""

from __future__ import annotations

import numpy as np

from .codes import CodeType
from .floats import FloatType
from .formats import Format
from .rules import nearest_integer


def decode_metadata(stored: np.ndarray, kind: FloatType | CodeType) -> np.ndarray:
    """The float32 values of stored scales or zeros of type `kind`, exact. TypeError for another dtype."""
    if isinstance(kind, FloatType):
        return kind.decode(stored)
    if stored.dtype != kind.dtype:
        raise TypeError(f"expected {kind} as {kind.dtype}, got {stored.dtype}")
    return stored.astype(np.float32)


def rounds_up(fmt: Format) -> bool:
    """Whether scales are rounded up, so that nothing saturates (rule R16)."""
    if fmt.scale.name == "f8E8M0FNU":
        return True
    return fmt.scale.name == "f8E4M3FN" and isinstance(fmt.codes, CodeType) and fmt.codes.bits > 4


def store_scale(
    extent: np.ndarray, divisor: float, largest: float, fmt: Format, outer: np.ndarray | None
) -> np.ndarray:
    """The stored scale of groups that span `extent` (rules R3 to R5, R16 and R17), by the default rule for it.

    divisor: what the extent is divided by. largest: the largest magnitude of a code's value. outer: float32 outer
    scales that broadcast to the extents, or None.
    """
    kind, n = fmt.scale, np.float32(divisor)
    scale = extent / n
    if outer is None:
        # Exact, or inf where it is not used.
        units = np.ceil((extent.astype(np.float64) / kind.unit).astype(np.float32) / n)
        cap = kind.cap(largest)
    else:
        scale = scale / outer
        units = np.ceil(scale / np.float32(kind.unit))
        units = np.where(extent > 0, np.maximum(units, 1), units)
        cap = np.float32(kind.largest)
    covering = units * np.float32(kind.unit)  # f8E8M0FNU, which has no zero, rounds 0 up as well
    wanted = np.where(scale < np.float32(kind.smallest_normal), covering, np.minimum(scale, cap))
    return kind.up(wanted) if rounds_up(fmt) else kind.encode(wanted)


def store_nearest(scale: np.ndarray, largest: float, fmt: Format) -> np.ndarray:
    """The stored scales nearest to `scale`, for codes of magnitudes up to `largest` (rule R28)."""
    cap = fmt.scale.cap(largest)
    return fmt.scale.encode(np.clip(scale, -cap, cap))


def usable(scales: np.ndarray) -> np.ndarray:
    """Where scales are neither 0 nor NaN."""
    return (scales != 0) & ~np.isnan(scales)


def scale_values(stored: np.ndarray, fmt: Format, outer: np.ndarray | None) -> np.ndarray:
    """s' of the rules: the float32 scales that codes are multiplied by."""
    scales = fmt.scale.decode(stored)
    return scales if outer is None else scales * outer


def find_zero(low: np.ndarray, scales: np.ndarray, fmt: Format) -> np.ndarray | None:
    """The zeros, not yet stored, of groups that start at `low` and have the scales s' (rules R7 and R18).

    An integer zero point is rounded already. None without a zero.
    """
    if fmt.zero is None or fmt.zero.kind == "min":
        return low
    good = usable(scales)
    distance = np.float32(0) - low if fmt.rule.span == "with_zero" else -low
    point = np.where(good, fmt.rule.round(distance / np.where(good, scales, np.float32(1))), np.float32(0))
    if isinstance(fmt.zero.type, FloatType):
        return point
    return np.clip(nearest_integer(point, fmt.rule.ties, 0), fmt.codes.lowest, fmt.codes.highest)


def store_zero(zero: np.ndarray | None, fmt: Format) -> np.ndarray | None:
    """Zeros as they are stored."""
    if zero is None:
        return None
    kind = fmt.zero.type
    return kind.encode(zero) if isinstance(kind, FloatType) else zero.astype(kind.dtype)


def quotients(elements: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, fmt: Format) -> np.ndarray:
    """What is rounded to codes (rules R8 and R18): float32, 0 where the scale is 0 or NaN."""
    good = usable(scales)
    divisor = np.where(good, scales, np.float32(1))
    point = None
    if fmt.zero is not None and fmt.zero.kind == "min":
        elements = fmt.rule.round(elements - zeros)
    elif fmt.zero is not None:
        point = zeros
    return np.where(good, fmt.rule.quotient_of(elements, divisor, point), np.float32(0))


def values(codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, fmt: Format) -> np.ndarray:
    """The values of codes (rules R10 and R18), in the type of the operands, which are numbers, not stored patterns."""
    if zeros is None:
        return codes * scales
    return codes * scales + zeros if fmt.zero.kind == "min" else (codes - zeros) * scales
