"""OpenVINO's CPU plugin: u8 and u4 caches with f32 scale and zero point beside the codes.

scale = (max - min)/(2^b - 1), or 1e-4 if that is 0; zp = -min/scale, not rounded; code = x (1/scale) + zp in one fused
operation, ties to even (the AVX-512 path; the scalar path divides and takes ties away from zero), value (code - zp)
scale. 4-bit: the even element is in the HIGH nibble. Source: openvinotoolkit/openvino, intel_cpu attn_quant.cpp.
"""

from __future__ import annotations

import numpy as np

from . import words


def _quantize(x: np.ndarray, bits: int, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high = x.min(axis=axis, keepdims=True), x.max(axis=axis, keepdims=True)
    scale = (high - low) / np.float32(2**bits - 1)
    scale = np.where(scale == 0, np.float32(1e-4), scale)
    point = -low / scale
    # The product is exact in f64; the sum is then rounded to f32.
    fused = x.astype(np.float64) * (words.ONE / scale).astype(np.float64) + point.astype(np.float64)
    return np.clip(np.rint(fused.astype(np.float32)), 0, 2**bits - 1).astype(np.uint8), scale, point


def _packed(codes: np.ndarray, bits: int) -> np.ndarray:
    return words.nibbles(codes[..., 1::2], codes[..., 0::2]) if bits == 4 else codes


def by_token(x: np.ndarray, bits: int, group: int) -> np.ndarray:
    """Rows [..., D] to bytes: for each group scale, zp, codes."""
    codes, scale, point = _quantize(words.rows(x, group), bits, -1)
    head = words.little_endian(np.concatenate([scale, point], axis=-1), "<f4")
    record = np.concatenate([head, _packed(codes, bits)], axis=-1)
    return record.reshape(*record.shape[:-2], -1)


def by_channel(x: np.ndarray, bits: int) -> np.ndarray:
    """One block of one head, [..., tokens, D], to flat bytes: D scales, D zero points, then the rows of tokens."""
    codes, scale, point = _quantize(np.asarray(x, np.float32), bits, -2)
    head = words.little_endian(np.concatenate([scale, point], axis=-1), "<f4")
    rows = _packed(codes, bits)
    return np.concatenate([head[..., 0, :], rows.reshape(*rows.shape[:-2], -1)], axis=-1)
