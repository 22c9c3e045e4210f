"""Elements to codes and back (rules R1 to R11)."""

from __future__ import annotations

import numpy as np

from . import ranges
from .floats import FloatType
from .formats import Format

ELEMENT_TYPES = ("f16", "bf16", "f32")

# Sums, quotients and roundings that overflow, underflow or meet a NaN are part of the rules, not accidents.
_quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")


def to_element(x: np.ndarray, dtype: str) -> np.ndarray:
    """Round float16 or float32 values to the cache's element type, saturating (rule R1).

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
    if x.dtype not in (np.float16, np.float32):
        raise TypeError(f"expected float16 or float32 values, got {x.dtype}")
    return x.astype(np.float32)


@_quiet
def _round_scale(extent: np.ndarray, largest_code: float, to: FloatType) -> np.ndarray:
    """The stored scale of groups that span `extent` (rules R3 to R5)."""
    n = np.float32(largest_code)
    scale = extent / n
    units = (extent.astype(np.float64) / to.unit).astype(np.float32)  # exact, or inf where it is not used
    covering = np.ceil(units / n) * np.float32(to.unit)
    ordinary = np.minimum(scale, to.cap(largest_code))
    return to.encode(np.where(scale < np.float32(to.smallest_normal), covering, ordinary))


@_quiet
def quantize(x: np.ndarray, fmt: Format, dtype: str = "f16") -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Quantize x [batch, heads, tokens, dim] (float16 or float32) for a cache whose element type is `dtype`.

    Returns (codes, scales, zeros): codes of x's shape, int8 for signed integers, else uint8 (bit patterns for float
    codes); scales [batch, heads, tokens/n, dim/g] as the scale type is stored; zeros likewise, or None without a zero.
    Raises ValueError, with both numbers, if groups tile neither the tokens nor the row, and for `codes = none`.
    """
    if fmt.codes is None:
        raise ValueError("codes = none stores elements exactly: there is nothing to quantize")
    element = element_type(dtype)
    elements = element.decode(element.encode(_as_f32(x)))
    grouped = _grouped(elements, fmt)
    low, extent = ranges.POLICIES[fmt.range].measure(grouped, (3, 5))

    stored_scales = _round_scale(extent, fmt.codes.largest, fmt.scale)
    stored_zeros = None if fmt.zero is None else fmt.zero.type.encode(low)

    scales = fmt.scale.decode(stored_scales)
    usable = scales > 0
    divisor = np.where(usable, scales, np.float32(1))
    offset = grouped if stored_zeros is None else grouped - fmt.zero.type.decode(stored_zeros)
    quotient = np.where(usable, offset / divisor, np.float32(0))
    codes = np.where(usable, fmt.codes.nearest(quotient), fmt.codes.dtype.type(0)).reshape(elements.shape)
    return codes, stored_scales[..., 0, :, 0], None if stored_zeros is None else stored_zeros[..., 0, :, 0]


def _grouped(elements: np.ndarray, fmt: Format) -> np.ndarray:
    """View [batch, heads, tokens, dim] as [batch, heads, tokens/n, n, dim/g, g]."""
    if elements.ndim != 4:
        raise ValueError(f"expected [batch, heads, tokens, dim], got {elements.ndim} axes")
    batch, heads, tokens, dim = elements.shape
    n, g = fmt.tokens, fmt.channels(dim)
    if tokens % n:
        raise ValueError(f"{tokens} tokens do not fill groups of {n} tokens")
    return elements.reshape(batch, heads, tokens // n, n, dim // g, g)


def _per_element(metadata: np.ndarray, codes: np.ndarray, fmt: Format) -> np.ndarray:
    """Metadata [..., tokens/n, dim/g] repeated to the shape of the codes [..., tokens, dim]."""
    tokens, dim = codes.shape[-2:]
    n, g = fmt.tokens, fmt.channels(dim)
    expected = (*codes.shape[:-2], tokens // n, dim // g)
    if tokens % n or metadata.shape != expected:
        raise ValueError(f"codes of shape {codes.shape} need metadata of shape {expected}, got {metadata.shape}")
    return np.repeat(np.repeat(metadata, n, axis=-2), g, axis=-1)


def _dequantize(codes, scales, zeros, fmt: Format, dtype) -> np.ndarray:
    if (zeros is None) != (fmt.zero is None):
        raise ValueError(f"zeros {'missing' if zeros is None else 'given'}, but the format is '{fmt}'")
    values = fmt.codes.values(codes).astype(dtype)
    values = values * _per_element(fmt.scale.decode(scales), codes, fmt).astype(dtype)
    if zeros is not None:
        values = values + _per_element(fmt.zero.type.decode(zeros), codes, fmt).astype(dtype)
    return values


@_quiet
def dequantize(codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, fmt: Format) -> np.ndarray:
    """The float32 values of codes [..., tokens, dim], the product and the sum each rounded (rule R10)."""
    return _dequantize(codes, scales, zeros, fmt, np.float32)


@_quiet
def dequantize64(codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, fmt: Format) -> np.ndarray:
    """The float64 values of codes [..., tokens, dim]: the product exact, the sum rounded once (rule R11)."""
    return _dequantize(codes, scales, zeros, fmt, np.float64)
