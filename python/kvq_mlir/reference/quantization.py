"""Elements to codes and back (rules R1 to R11)."""

from __future__ import annotations

import numpy as np

from . import metadata, ranges
from .calibration import Calibration
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
def quantize(
    x: np.ndarray, fmt: Format, dtype: str = "f16", calibration: Calibration | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Quantize x [batch, heads, tokens, dim] (float16 or float32) for a cache whose element type is `dtype`.

    Returns (codes, scales, zeros): codes of x's shape, int8 for signed integers, else uint8 (bit patterns for float
    codes); scales [batch, heads, tokens/n, dim/g] as the scale type is stored; zeros likewise, or None without a zero.
    Raises ValueError, with both numbers, if groups tile neither the tokens nor the row, for `codes = none`, and if
    the calibration is not what the format needs.
    """
    if fmt.codes is None:
        raise ValueError("codes = none stores elements exactly: there is nothing to quantize")
    element = element_type(dtype)
    elements = element.decode(element.encode(_as_f32(x)))
    grouped = _grouped(elements, fmt)
    outer = _outer(fmt, calibration, elements.shape[1], elements.shape[3], trailing=4)

    low, extent = ranges.POLICIES[fmt.range].measure(grouped, (3, 5), fmt.zero)
    stored_scales = metadata.store_scale(extent, fmt.codes.largest, fmt.codes.largest, fmt, outer)
    scales = metadata.scale_values(stored_scales, fmt, outer)
    stored_zeros = metadata.store_zero(low, scales, fmt)
    zeros = None if stored_zeros is None else metadata.decode_metadata(stored_zeros, fmt.zero.type)
    quotient = metadata.quotients(grouped, scales, zeros, fmt)
    codes = np.where(scales > 0, fmt.codes.nearest(quotient), fmt.codes.dtype.type(0)).reshape(elements.shape)
    return codes, stored_scales[..., 0, :, 0], None if stored_zeros is None else stored_zeros[..., 0, :, 0]


def _outer(fmt: Format, calibration: Calibration | None, heads: int, dim: int, trailing: int) -> np.ndarray | None:
    """The outer scales, with `trailing` axes after that of the heads; None without."""
    calibration = Calibration() if calibration is None else calibration
    calibration.check(fmt, heads, dim)
    return None if calibration.outer is None else calibration.outer.reshape(-1, *[1] * trailing)


def _grouped(elements: np.ndarray, fmt: Format) -> np.ndarray:
    """View [batch, heads, tokens, dim] as [batch, heads, tokens/n, n, dim/g, g]."""
    if elements.ndim != 4:
        raise ValueError(f"expected [batch, heads, tokens, dim], got {elements.ndim} axes")
    batch, heads, tokens, dim = elements.shape
    n, g = fmt.tokens, fmt.channels(dim)
    if tokens % n:
        raise ValueError(f"{tokens} tokens do not fill groups of {n} tokens")
    return elements.reshape(batch, heads, tokens // n, n, dim // g, g)


def _per_element(stored: np.ndarray, codes: np.ndarray, fmt: Format) -> np.ndarray:
    """Metadata [..., tokens/n, dim/g] repeated to the shape of the codes [..., tokens, dim]."""
    tokens, dim = codes.shape[-2:]
    n, g = fmt.tokens, fmt.channels(dim)
    expected = (*codes.shape[:-2], tokens // n, dim // g)
    if tokens % n or stored.shape != expected:
        raise ValueError(f"codes of shape {codes.shape} need metadata of shape {expected}, got {stored.shape}")
    return np.repeat(np.repeat(stored, n, axis=-2), g, axis=-1)


def _dequantize(codes, scales, zeros, fmt: Format, calibration: Calibration | None, dtype) -> np.ndarray:
    if (zeros is None) != (fmt.zero is None):
        raise ValueError(f"zeros {'missing' if zeros is None else 'given'}, but the format is '{fmt}'")
    heads = codes.shape[-3] if codes.ndim > 2 else 1
    outer = _outer(fmt, calibration, heads, codes.shape[-1], trailing=2)
    if outer is not None and codes.ndim == 2:
        outer = outer[0]
    factors = _per_element(metadata.scale_values(scales, fmt, outer), codes, fmt).astype(dtype)
    if zeros is not None:
        zeros = _per_element(metadata.decode_metadata(zeros, fmt.zero.type), codes, fmt).astype(dtype)
    return metadata.values(fmt.codes.values(codes).astype(dtype), factors, zeros, fmt)


@_quiet
def dequantize(
    codes: np.ndarray,
    scales: np.ndarray,
    zeros: np.ndarray | None,
    fmt: Format,
    calibration: Calibration | None = None,
) -> np.ndarray:
    """The float32 values of codes [..., heads, tokens, dim], each operation rounded (rules R10 and R18)."""
    return _dequantize(codes, scales, zeros, fmt, calibration, np.float32)


@_quiet
def dequantize64(
    codes: np.ndarray,
    scales: np.ndarray,
    zeros: np.ndarray | None,
    fmt: Format,
    calibration: Calibration | None = None,
) -> np.ndarray:
    """The float64 values of codes [..., heads, tokens, dim] (rule R11)."""
    return _dequantize(codes, scales, zeros, fmt, calibration, np.float64)
