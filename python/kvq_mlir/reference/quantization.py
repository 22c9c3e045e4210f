"""Elements to codes and back (rules R1 to R11), and the packing of codes (rule R13)."""

from __future__ import annotations

import numpy as np

from . import ranges
from .formats import CodeType, FloatType, Format

# Sums, quotients and roundings that overflow, underflow or meet a NaN are part of the rules, not accidents.
_quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")


def to_element(x: np.ndarray, dtype: str) -> np.ndarray:
    """Round float16 or float32 values to the cache's element type, saturating (rule R1).

    x: any shape. dtype: "f16" or "f32". Returns an array of the same shape; NaN stays NaN.
    Raises TypeError for another input type, ValueError for an unknown dtype.
    """
    x = np.asarray(x)
    if x.dtype not in (np.float16, np.float32):
        raise TypeError(f"expected float16 or float32 values, got {x.dtype}")
    return _round(x.astype(np.float32), FloatType.named(dtype))


@_quiet
def _round(x: np.ndarray, to: FloatType) -> np.ndarray:
    """Float32 values rounded to nearest even, saturating."""
    largest = np.float32(to.largest)
    return np.clip(x, -largest, largest).astype(to.dtype)


@_quiet
def _round_scale(extent: np.ndarray, highest_code: int, to: FloatType) -> np.ndarray:
    """The stored scale of groups that span `extent` (rules R3 to R5)."""
    n = np.float32(highest_code)
    scale = extent / n
    units = (extent.astype(np.float64) / to.unit).astype(np.float32)  # exact, or inf where it is not used
    covering = np.ceil(units / n) * np.float32(to.unit)
    ordinary = np.minimum(scale, to.scale_cap(highest_code))
    return np.where(scale < np.float32(to.smallest_normal), covering, ordinary).astype(to.dtype)


@_quiet
def quantize(x: np.ndarray, fmt: Format, dtype: str = "f16") -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Quantize x [batch, heads, tokens, dim] (float16 or float32) for a cache whose element type is `dtype`.

    Returns (codes, scales, zeros): codes int8 or uint8 of x's shape; scales [batch, heads, tokens/n, dim/g] in the
    format's scale type; zeros likewise in the zero's type, or None for symmetric codes.
    Raises ValueError, with both numbers, if groups tile neither the tokens nor the row, and for `codes = none`.
    """
    if fmt.codes is None:
        raise ValueError("codes = none stores elements exactly: there is nothing to quantize")
    elements = to_element(x, dtype).astype(np.float32)
    grouped = _grouped(elements, fmt)
    low, extent = ranges.POLICIES[fmt.range].measure(grouped, (3, 5))

    scales = _round_scale(extent, fmt.codes.highest, fmt.scale)
    zeros = None if fmt.zero is None else _round(low, fmt.zero.type)

    usable = scales > 0
    divisor = np.where(usable, scales, 1).astype(np.float32)
    offset = grouped if zeros is None else grouped - zeros.astype(np.float32)
    rounded = np.clip(np.rint(offset / divisor), fmt.codes.lowest, fmt.codes.highest)
    codes = np.where(usable, rounded, 0).astype(fmt.codes.dtype).reshape(elements.shape)
    return codes, scales[..., 0, :, 0], None if zeros is None else zeros[..., 0, :, 0]


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
    values = codes.astype(dtype) * _per_element(scales, codes, fmt).astype(dtype)
    if zeros is not None:
        values = values + _per_element(zeros, codes, fmt).astype(dtype)
    return values


@_quiet
def dequantize(codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, fmt: Format) -> np.ndarray:
    """The float32 values of codes [..., tokens, dim], the product and the sum each rounded (rule R10).

    scales, zeros: [..., tokens/n, dim/g]; zeros None for symmetric codes. Raises ValueError where shapes disagree, or
    zeros are missing or not expected.
    """
    return _dequantize(codes, scales, zeros, fmt, np.float32)


def dequantize64(codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, fmt: Format) -> np.ndarray:
    """The float64 values of codes [..., tokens, dim]: the product exact, the sum rounded once (rule R11).

    Arguments and errors as in `dequantize`.
    """
    return _dequantize(codes, scales, zeros, fmt, np.float64)


def pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Pack rows of codes [..., dim] (int8 or uint8) into bytes [..., dim*bits/8], in planes (rule R13).

    Raises ValueError if `bits` is not 2, 4 or 8, the planes do not divide dim (with both numbers) or a code does not
    fit into `bits` bits; TypeError for codes of another type.
    """
    planes = _planes(bits)
    codes = np.asarray(codes)
    if codes.dtype not in (np.int8, np.uint8):
        raise TypeError(f"expected int8 or uint8 codes, got {codes.dtype}")
    dim = codes.shape[-1]
    if dim % planes:
        raise ValueError(f"row of {dim} codes is not divisible by the {planes} codes of a byte")
    lowest, highest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if codes.dtype == np.int8 else (0, 2**bits - 1)
    if np.any((codes < lowest) | (codes > highest)):
        raise ValueError(f"codes outside {lowest} ... {highest} do not fit into {bits} bits")
    fields = codes.view(np.uint8) & np.uint8(2**bits - 1)
    packed = np.zeros((*codes.shape[:-1], dim // planes), np.uint8)
    for plane, part in enumerate(np.split(fields, planes, axis=-1)):
        packed |= part << np.uint8(plane * bits)
    return packed


def unpack(packed: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    """The inverse of `pack`: bytes [..., dim*bits/8] (uint8) to codes [..., dim], int8 if signed, else uint8.

    Raises ValueError if `bits` is not 2, 4 or 8; TypeError for bytes of another type.
    """
    planes = _planes(bits)
    packed = np.asarray(packed)
    if packed.dtype != np.uint8:
        raise TypeError(f"expected uint8 bytes, got {packed.dtype}")
    parts = [(packed >> np.uint8(plane * bits)) & np.uint8(2**bits - 1) for plane in range(planes)]
    fields = np.concatenate(parts, axis=-1)
    if not signed:
        return fields
    sign = np.int16(2 ** (bits - 1))
    return ((fields.astype(np.int16) ^ sign) - sign).astype(np.int8)


def _planes(bits: int) -> int:
    if bits not in CodeType.WIDTHS:
        raise ValueError(f"cannot pack codes of {bits} bits, expected one of {CodeType.WIDTHS}")
    return 8 // bits
