"""NVFP4: blocks of 16 E2M1 elements with an E4M3 scale and one global f32 scale; and its relatives.

sf = e4m3(amax / 6 / g), element = e2m1(x / (sf g)), both to nearest even and saturating, value element sf g; the even
element is in the low nibble. A block with sf = 0 has codes 0. A common g is (largest magnitude of the tensor)/(6 448).
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import words

BLOCK = 16
SIX = np.float32(6)


def quantize(x: np.ndarray, g: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """(sf, bytes): uint8 [..., n/16] and uint8 [..., n/2]."""
    x, g = words.rows(x, BLOCK), np.float32(g)
    e4m3, e2m1 = FloatType.named("f8E4M3FN"), FloatType.named("f4E2M1FN")
    sf = e4m3.nearest(np.max(np.abs(x), axis=-1) / SIX / g)
    scale = (e4m3.decode(sf) * g)[..., np.newaxis]
    codes = np.where(scale > 0, e2m1.nearest(x / np.where(scale > 0, scale, words.ONE)), 0)
    return sf, words.even_low(codes.reshape(*codes.shape[:-2], -1))


def flashinfer_v_scales(sf: np.ndarray) -> np.ndarray:
    """V scales [tokens, S] of a FlashInfer page, flat: scale (t, s) at (t/4) 4S + 4s + t%4. K scales stay linear."""
    tokens, count = sf.shape
    return sf.reshape(tokens // 4, 4, count).swapaxes(1, 2).reshape(-1)


def gemm_scales(sf: np.ndarray) -> np.ndarray:
    """Scales [m, k] in the 128x4 tiles of block-scaled matrix multiplication, flat, padded with 0."""
    m, k = sf.shape
    rows, columns = -(-m // 128), -(-k // 4)
    flat = np.zeros(rows * columns * 512, np.uint8)
    i, j = np.meshgrid(np.arange(m), np.arange(k), indexing="ij")
    flat[((i // 128) * columns + j // 4) * 512 + (i % 32) * 16 + ((i % 128) // 32) * 4 + j % 4] = sf
    return flat


def sglang(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SGLang's KVFP4: (E, bytes) of blocks of 16, E = ceil(log2(max(amax/6, 1e-10))) + 127, ties away from zero."""
    x = words.rows(x, BLOCK)
    exponent = np.ceil(np.log2(np.maximum(np.max(np.abs(x), axis=-1) / SIX, np.float32(1e-10)))).astype(np.int32)
    magnitude = np.abs(np.ldexp(x, -exponent[..., np.newaxis]))
    thresholds = np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
    codes = np.searchsorted(thresholds, magnitude, side="right") + 8 * (x < 0)
    return (exponent + 127).astype(np.uint8), words.even_low(codes.reshape(*codes.shape[:-2], -1))
