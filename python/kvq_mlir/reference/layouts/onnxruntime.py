"""ONNX Runtime's GroupQueryAttention with a quantized cache: symmetric, with given scales.

code = x (1/scale), ties to even, 0 where the scale is 0; int8 within -128 ... 127, int4 within -8 ... 7, fp8 e4m3
within 448. A scale is one for the tensor or one per channel.
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import words


def _scaled(x: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
    return np.asarray(x, np.float32) * words.reciprocal(np.asarray(scale, np.float32))


def int8(x: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
    """D bytes."""
    return words.little_endian(np.clip(np.rint(_scaled(x, scale)), -128, 127), "i1")


def int4(x: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
    """ceil(D/2) bytes: code + 8, even element in the low nibble, an odd row padded with the code 0."""
    codes = np.clip(np.rint(_scaled(x, scale)), -8, 7) + 8
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.full((*codes.shape[:-1], 1), 8, np.float32)], axis=-1)
    return words.even_low(codes)


def fp8(x: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
    """D bytes."""
    return FloatType.named("f8E4M3FN").nearest(_scaled(x, scale))
