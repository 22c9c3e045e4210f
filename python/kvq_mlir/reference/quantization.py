"""Elements to codes and back (rules R1 to R11, R15 and R20 to R25)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import metadata, ranges
from .calibration import Calibration
from .floats import FloatType
from .formats import Format
from .rotation import prepare
from .rules import exponent, fitted_squares

ELEMENT_TYPES = ("f16", "bf16", "f32")

# Sums, quotients and roundings that overflow, underflow or meet a NaN are part of the rules, not accidents.
_quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")


def to_element(x: np.ndarray, dtype: str) -> np.ndarray:
    """Round float16, bfloat16 or float32 values to the cache's element type, saturating (rule R1).

    x: any shape. dtype: "f16", "bf16" or "f32". Returns an array of the same shape; NaN stays NaN.
    Raises TypeError for another input type, ValueError for an unknown dtype.
    """
    return element_type(dtype).encode(_as_f32(x))


def element_type(dtype: str) -> FloatType:
    """The element type called `dtype`; ValueError for another name."""
    if dtype not in ELEMENT_TYPES:
        raise ValueError(f"unknown type '{dtype}', expected one of {', '.join(ELEMENT_TYPES)}")
    return FloatType.named(dtype)


def _as_f32(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x)
    if x.dtype.name not in ("float16", "bfloat16", "float32"):
        raise TypeError(f"expected float16, bfloat16 or float32 values, got {x.dtype}")
    return x.astype(np.float32)


def quantize(
    x: np.ndarray, fmt: Format, dtype: str = "f16", calibration: Calibration | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Quantize x [batch, heads, tokens, dim] (float16, bfloat16 or float32) for a cache whose element type is `dtype`.

    Returns (codes, scales, zeros): codes of x's shape, int8 for signed integers, else uint8 (bit patterns for float
    codes, indices for codebooks); scales [batch, heads/h, tokens/n, dim/g] as the scale type is stored, [batch, heads/h,
    1, dim/g] where static; zeros likewise, or None without a zero.
    Raises ValueError, with both numbers, if groups tile neither the tokens nor the row, for `codes = none`, and if
    the calibration is not what the format needs.
    """
    result = _quantize(x, fmt, dtype, calibration)
    return result.codes, result.scales, result.zeros


@dataclass(frozen=True)
class Clipped:
    """How many elements the codes could not hold (rule R24)."""

    saturated: int
    nans: int


def count_clipped(x: np.ndarray, fmt: Format, dtype: str = "f16", calibration: Calibration | None = None) -> Clipped:
    """What `quantize` with the same arguments clips."""
    return _quantize(x, fmt, dtype, calibration).clipped


@dataclass(frozen=True)
class _Result:
    codes: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray | None
    clipped: Clipped


@_quiet
def _quantize(x: np.ndarray, fmt: Format, dtype: str, calibration: Calibration | None) -> _Result:
    if fmt.codes is None:
        raise ValueError("codes = none stores elements exactly: there is nothing to quantize")
    element = element_type(dtype)
    elements = element.decode(element.encode(_as_f32(x)))
    if elements.ndim != 4:
        raise ValueError(f"expected [batch, heads, tokens, dim], got {elements.ndim} axes")
    batch, heads, _, dim = elements.shape
    fmt.channels(dim)
    calibration = _checked(calibration, fmt, heads, dim)
    grouped = _grouped(prepare(elements, fmt, calibration), fmt)
    outer, codes_type = _by_head(calibration.outer, 5), fmt.codes_for(dim, heads)

    if fmt.policy.kind == "static":
        groups = heads // fmt.group_heads(heads)
        stored = _given(calibration.scales, batch, groups), _given(calibration.zeros, batch, groups)
        scales, zeros = _decoded(*stored, fmt, outer)
    elif fmt.rule.metadata == "unrounded":
        stored, scales, zeros = _unrounded(grouped, fmt, codes_type)
    else:
        stored = _chosen(grouped, fmt, codes_type, outer)
        scales, zeros = _decoded(*stored, fmt, outer)
    quotient, usable = metadata.quotients(grouped, scales, zeros, fmt), metadata.usable(scales) & ~np.isnan(grouped)
    codes = _codes(quotient, usable, codes_type)
    if fmt.rule.fit == "squares":
        values = codes_type.values(codes)
        fitted = fitted_squares(*(ranges.in_order(part) for part in (grouped, values)))
        stored = metadata.store_nearest(ranges.as_groups(fitted), _farthest(codes_type), fmt), None
    codes = codes.reshape(elements.shape)
    clipped = Clipped(
        saturated=int(np.sum(usable & codes_type.saturates(quotient))),
        nans=int(np.isnan(grouped).sum()) if fmt.policy.kind == "static" else 0,
    )
    scales, zeros = (None if part is None else part[:, :, 0, :, 0, :, 0] for part in stored)
    return _Result(codes, scales, zeros, clipped)


def _chosen(grouped: np.ndarray, fmt: Format, codes_type, outer: np.ndarray | None):
    """The stored scales and zeros (or None) of each group, with least squared error among the ratios of the range."""
    best, least = None, None
    for ratio in fmt.policy.ratios():
        stored = _measured(grouped, fmt, codes_type, outer, ratio)
        if fmt.policy.kind != "search":
            return stored
        scales, zeros = _decoded(*stored, fmt, outer)
        codes = _codes(metadata.quotients(grouped, scales, zeros, fmt), metadata.usable(scales), codes_type)
        difference = metadata.values(codes_type.values(codes), scales, zeros, fmt) - grouped
        error = ranges.group_sum(difference * difference)
        if best is None:
            best, least = stored, error
            continue
        better = error < least
        best = tuple(None if new is None else np.where(better, new, old) for new, old in zip(stored, best, strict=True))
        least = np.where(better, error, least)
    return best


def _measured(grouped: np.ndarray, fmt: Format, codes_type, outer: np.ndarray | None, ratio: np.float32):
    """The stored scales and zeros (or None) of each group, its range multiplied by `ratio`."""
    low, high, extent, divisor = _range(grouped, fmt, codes_type, ratio)
    if fmt.rule.scale == "covering":
        scales = metadata.store_scale(extent, divisor, _farthest(codes_type), fmt, outer)
    elif fmt.rule.scale == "exponent":
        scales = exponent(extent, codes_type.largest)
    else:
        scale, low = _by_rule(low, high, extent, divisor, fmt, codes_type)
        if outer is not None:
            scale = scale / outer
        scales = metadata.store_nearest(scale, 1.0 if outer is not None else _farthest(codes_type), fmt)
    zero = metadata.find_zero(low, metadata.scale_values(scales, fmt, outer), fmt)
    return scales, metadata.store_zero(zero, fmt)


def _range(grouped: np.ndarray, fmt: Format, codes_type, ratio: np.float32):
    """(lo, hi, a, what a is divided by) of each group, its range multiplied by `ratio`."""
    if fmt.policy.kind in ("rms", "norm"):
        return None, None, ranges.norm(grouped, mean=fmt.policy.kind == "rms"), 1.0
    ends = ranges.interval(grouped, None if fmt.zero is None else fmt.zero.kind, ratio, fmt.rule)
    return *ends, codes_type.lowest if fmt.rule.extremum == "signed" else codes_type.largest


def _by_rule(low, high, extent: np.ndarray, divisor: float, fmt: Format, codes_type):
    """The float32 scales of groups that span `extent`, and their minima, before either is stored."""
    scale = fmt.rule.scale_of(extent, divisor)
    if fmt.rule.fit == "end":
        scale, low = fmt.rule.fitted_end(scale, low, high)
    largest = np.float32(FloatType.named("f32").largest)
    return np.clip(scale, -largest, largest), low


def _unrounded(grouped: np.ndarray, fmt: Format, codes_type):
    """The stored scales and zeros of each group, and the scales and zeros that they are rounded from."""
    scale, low = _by_rule(*_range(grouped, fmt, codes_type, fmt.policy.ratios()[0]), fmt, codes_type)
    zero = metadata.find_zero(low, scale, fmt)
    stored = metadata.store_nearest(scale, _farthest(codes_type), fmt), metadata.store_zero(zero, fmt)
    return stored, scale, zero


def _farthest(codes_type) -> float:
    """The largest magnitude of a code."""
    return max(codes_type.largest, -codes_type.lowest)


def _decoded(scales: np.ndarray, zeros: np.ndarray | None, fmt: Format, outer: np.ndarray | None):
    decoded = None if zeros is None else metadata.decode_metadata(zeros, fmt.zero.type)
    return metadata.scale_values(scales, fmt, outer), decoded


def _codes(quotient: np.ndarray, usable: np.ndarray, codes_type) -> np.ndarray:
    return np.where(usable, codes_type.nearest(np.where(usable, quotient, np.float32(0))), codes_type.dtype.type(0))


def _checked(calibration: Calibration | None, fmt: Format, heads: int, dim: int) -> Calibration:
    calibration = Calibration() if calibration is None else calibration
    calibration.check(fmt, heads, dim)
    return calibration


def _by_head(given: np.ndarray | None, trailing: int) -> np.ndarray | None:
    """One value a head, with `trailing` axes after that of the heads."""
    return None if given is None else given.reshape(-1, *[1] * trailing)


def _given(stored: np.ndarray | None, batch: int, heads: int) -> np.ndarray | None:
    """Static metadata [heads/h or 1, dim/g] as that of one group of tokens, [batch, heads/h, 1, 1, 1, dim/g, 1]."""
    if stored is None:
        return None
    return np.broadcast_to(stored[:, None, None, None, :, None], (batch, heads, 1, 1, 1, stored.shape[1], 1))


def _grouped(elements: np.ndarray, fmt: Format) -> np.ndarray:
    """View [batch, heads, tokens, dim] as [batch, heads/h, h, tokens/n, n, dim/g, g]."""
    batch, heads, tokens, dim = elements.shape
    h, n, g = fmt.group_heads(heads), fmt.group[0], fmt.channels(dim)
    if n is None:
        return elements.reshape(batch, heads // h, h, 1, tokens, dim // g, g)
    if tokens % n:
        raise ValueError(f"{tokens} tokens do not fill groups of {n} tokens")
    return elements.reshape(batch, heads // h, h, tokens // n, n, dim // g, g)


def _per_element(stored: np.ndarray, codes: np.ndarray, fmt: Format) -> np.ndarray:
    """Metadata [..., heads/h, tokens/n, dim/g] repeated to the shape of the codes [..., heads, tokens, dim]."""
    *leading, tokens, dim = codes.shape
    static, g = fmt.group[0] is None, fmt.channels(dim)
    n = max(tokens, 1) if static else fmt.tokens
    h = fmt.group_heads(leading[-1]) if leading else 1
    if leading:
        leading[-1] //= h
    expected = (*leading, 1 if static else tokens // n, dim // g)
    if (tokens % n and not static) or stored.shape != expected:
        raise ValueError(f"codes of shape {codes.shape} need metadata of shape {expected}, got {stored.shape}")
    stored = np.repeat(np.repeat(stored, n, axis=-2)[..., :tokens, :], g, axis=-1)
    return np.repeat(stored, h, axis=-3) if h > 1 else stored


def _dequantize(codes, scales, zeros, fmt: Format, calibration: Calibration | None, dtype) -> np.ndarray:
    if (zeros is None) != (fmt.zero is None):
        raise ValueError(f"zeros {'missing' if zeros is None else 'given'}, but the format is '{fmt}'")
    dim = codes.shape[-1]
    calibration = _checked(calibration, fmt, codes.shape[-3] if codes.ndim > 2 else 1, dim)
    outer = _by_head(calibration.outer, 2)
    if outer is not None and codes.ndim == 2:
        outer = outer[0]
    scales, zeros = _decoded(scales, zeros, fmt, outer)
    scales, zeros = (None if part is None else _per_element(part, codes, fmt).astype(dtype) for part in (scales, zeros))
    heads = codes.shape[-3] if codes.ndim > 2 else 1
    return metadata.values(fmt.codes_for(dim, heads).values(codes).astype(dtype), scales, zeros, fmt)


@_quiet
def dequantize(
    codes: np.ndarray,
    scales: np.ndarray,
    zeros: np.ndarray | None,
    fmt: Format,
    calibration: Calibration | None = None,
) -> np.ndarray:
    """The float32 values of codes [..., heads, tokens, dim], each operation rounded (rules R10 and R18).

    These are the values that were quantized: rotated and centred where the format says so (see `restore64`).
    """
    return _dequantize(codes, scales, zeros, fmt, calibration, np.float32)


@_quiet
def dequantize64(
    codes: np.ndarray,
    scales: np.ndarray,
    zeros: np.ndarray | None,
    fmt: Format,
    calibration: Calibration | None = None,
) -> np.ndarray:
    """The float64 values of codes [..., heads, tokens, dim] (rule R11), rotated and centred as in `dequantize`."""
    return _dequantize(codes, scales, zeros, fmt, calibration, np.float64)
