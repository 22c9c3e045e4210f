"""Rounding and packing that several engines share."""

from __future__ import annotations

import numpy as np

ONE = np.float32(1)
HALF = np.float32(0.5)


def rows(x: np.ndarray, size: int) -> np.ndarray:
    """x [..., n] as float32 blocks [..., n/size, size]; ValueError with both numbers if they do not tile."""
    x = np.asarray(x, np.float32)
    if x.shape[-1] % size:
        raise ValueError(f"row of {x.shape[-1]} elements is not divisible by blocks of {size}")
    return x.reshape(*x.shape[:-1], -1, size)


def half_away(x: np.ndarray) -> np.ndarray:
    """Rounded to nearest, ties away from zero, as C's roundf."""
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= HALF).astype(np.float32), x)


def reciprocal(d: np.ndarray) -> np.ndarray:
    """1 / d, and 0 where d is 0."""
    return np.where(d == 0, np.float32(0), ONE / np.where(d == 0, ONE, d))


def first_largest(x: np.ndarray) -> np.ndarray:
    """The element of largest magnitude of each block, the first of equal ones, [..., 1]; +0 in a block of zeros."""
    at = np.argmax(np.abs(x), axis=-1, keepdims=True)
    return np.take_along_axis(x, at, axis=-1) + np.float32(0)


def minimum(x: np.ndarray) -> np.ndarray:
    """The first least element of each block, [..., 1]: with its own sign where it is a zero."""
    return np.take_along_axis(x, np.argmin(x, axis=-1, keepdims=True), axis=-1)


def maximum(x: np.ndarray) -> np.ndarray:
    """The first greatest element of each block, [..., 1]."""
    return np.take_along_axis(x, np.argmax(x, axis=-1, keepdims=True), axis=-1)


def little_endian(x: np.ndarray, dtype: str) -> np.ndarray:
    """x [..., n], converted to a little-endian NumPy type, as bytes [..., n * size]."""
    x = np.ascontiguousarray(np.asarray(x).astype(dtype))
    return x.view(np.uint8).reshape(*x.shape[:-1], -1)


def nibbles(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """One byte for each pair of 4-bit codes."""
    return (low.astype(np.uint8) & 15) | ((high.astype(np.uint8) & 15) << np.uint8(4))


def even_low(codes: np.ndarray) -> np.ndarray:
    """4-bit codes [..., n] as bytes [..., n/2]: even elements in the low nibble."""
    return nibbles(codes[..., 0::2], codes[..., 1::2])


def halves(codes: np.ndarray) -> np.ndarray:
    """4-bit codes [..., n] as bytes [..., n/2]: byte j holds element j in the low, j + n/2 in the high nibble."""
    low, high = np.split(codes, 2, axis=-1)
    return nibbles(low, high)


def bitstream(codes: np.ndarray, bits: int) -> np.ndarray:
    """Codes [..., n] as bytes [..., n*bits/8], each code's lowest bit first."""
    planes = (codes[..., np.newaxis].astype(np.uint8) >> np.arange(bits, dtype=np.uint8)) & np.uint8(1)
    return np.packbits(planes.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")
