"""LMDeploy's int8 and int4 caches: the PyTorch engine's and TurboMind's.

Scale and zero (or minimum) are stored in the model's type, in pairs; codes use the unrounded f32 ones.
Source: InternLM/lmdeploy, pytorch/kernels/cuda/fill_kv_cache.py and turbomind/kernels/attention.
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import words


def _range(x: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    return low, (high - low) / np.float32(2**bits - 1)


def _pair(scale: np.ndarray, zero: np.ndarray, dtype: str) -> np.ndarray:
    stored = FloatType.named(dtype).encode(np.concatenate([scale, zero], axis=-1))
    return words.little_endian(stored, stored.dtype.str)


def pytorch(x: np.ndarray, bits: int, dtype: str = "f16") -> tuple[np.ndarray, np.ndarray]:
    """(codes, pair) of rows [..., D]: bytes [..., D] or [..., D/2], and the 4 or 8 bytes of (scale, zero).

    s = (max - min)/(2^b - 1), z = -min/s, code = trunc(x/s + z + 0.5), value (code - z) s. 4-bit: byte j holds element
    j in the low, j + D/2 in the high nibble.
    """
    x = np.asarray(x, np.float32)
    low, scale = _range(x, bits)
    divisor = np.where(scale > 0, scale, words.ONE)
    zero = np.where(scale > 0, -low / divisor, np.float32(0))
    codes = np.clip(np.trunc(x / divisor + zero + words.HALF), 0, 2**bits - 1)
    codes = np.where(scale > 0, codes, 0).astype(np.uint8)
    return words.halves(codes) if bits == 4 else codes, _pair(scale, zero, dtype)


def turbomind(x: np.ndarray, bits: int, dtype: str = "f16") -> tuple[np.ndarray, np.ndarray]:
    """(codes, pair) of rows [..., D]: bytes, and those of (scale, minimum).

    code = (x - min) (1/s), ties to even. 4-bit: the nibbles of 8 elements, lowest first, are 0 2 4 6 1 3 5 7.
    """
    x = np.asarray(x, np.float32)
    low, scale = _range(x, bits)
    codes = np.clip(np.rint((x - low) * words.reciprocal(scale)), 0, 2**bits - 1).astype(np.uint8)
    if bits == 4:
        eights = words.rows(codes, 8)[..., [0, 2, 4, 6, 1, 3, 5, 7]].astype(np.uint8)
        codes = words.even_low(eights.reshape(codes.shape))
    return codes, _pair(scale, low, dtype)
