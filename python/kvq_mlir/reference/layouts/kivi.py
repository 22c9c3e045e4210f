"""KIVI's 2, 4 and 8 bit caches in f16: keys grouped and packed along tokens, values along channels.

scale = (max - min)/(2^b - 1), code = (x - min)/scale, ties to even, value code scale + min, where every operation is
rounded to f16, as PyTorch does. Codes are packed into int32 words, the first in the lowest bits.
Source: jy-yuan/KIVI, quant/new_pack.py.
"""

from __future__ import annotations

import numpy as np

from . import words


def _quantize(x: np.ndarray, bits: int, group: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups along the last axis: codes of x's shape, f16 scales and minima [..., n/group]."""
    x = words.rows(np.asarray(x, np.float16), group).astype(np.float16)
    low = x.min(axis=-1, keepdims=True)
    scale = ((x.max(axis=-1, keepdims=True) - low) / np.float16(2**bits - 1)).astype(np.float16)
    divisor = np.where(scale > 0, scale, np.float16(1))
    codes = np.clip(np.rint((x - low) / divisor), 0, 2**bits - 1).astype(np.uint8)
    codes = np.where(scale > 0, codes, 0).astype(np.uint8)
    return codes.reshape(*codes.shape[:-2], -1), scale[..., 0], low[..., 0]


def values(x: np.ndarray, bits: int, group: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(words, scales, minima) of values [..., tokens, D]: words uint32 [..., tokens, D bits/32]."""
    codes, scale, low = _quantize(x, bits, group)
    return words.bitstream(codes, bits).view("<u4"), scale, low


def keys(x: np.ndarray, bits: int, group: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(words, scales, minima) of keys [..., tokens, D]: words uint32 [..., tokens bits/32, D], the others [..., tokens/
    group, D]."""
    packed, scale, low = values(np.swapaxes(np.asarray(x, np.float16), -1, -2), bits, group)
    return tuple(np.swapaxes(part, -1, -2) for part in (packed, scale, low))
