"""Rows of DeepSeek's latent attention, 512 elements and 64 that RoPE has rotated.

fp8 (vLLM's fp8_ds_mla), 656 bytes a token: 512 e4m3 | 4 f32 scales, one per 128 elements | 64 bf16. A scale is
max(amax/448, 2^-126), elements are e4m3(x / scale). Source: vllm-project/vllm, csrc cache kernels
(concat_and_cache_ds_mla).

nvfp4 (nvfp4_ds_mla), 352 bytes: 512 e2m1, even elements in the low nibbles | 64 e4m3 | 32 e4m3 scales, that of block b
of 16 elements at byte 8 (b mod 4) + b // 4. Source: vllm-project/vllm and flashinfer-ai/flashinfer, which state the row;
scale and elements are those of `nvfp4.quantize` with g = 1.
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import nvfp4, words

LATENT, ROPE, TILE = 512, 64, 128


def _parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = np.asarray(x, np.float32)
    if x.shape[-1] != LATENT + ROPE:
        raise ValueError(f"expected rows of {LATENT + ROPE} elements, got {x.shape[-1]}")
    return x[..., :LATENT], x[..., LATENT:]


def nvfp4_row(x: np.ndarray) -> np.ndarray:
    """Rows [..., 576] to bytes [..., 352]."""
    latent, rope = _parts(x)
    scales, codes = nvfp4.quantize(latent)
    swizzled = np.empty_like(scales)
    for block in range(LATENT // nvfp4.BLOCK):
        swizzled[..., 8 * (block % 4) + block // 4] = scales[..., block]
    return np.concatenate([codes, FloatType.named("f8E4M3FN").nearest(rope), swizzled], axis=-1)


def fp8_row(x: np.ndarray) -> np.ndarray:
    """Rows [..., 576] to bytes [..., 656]."""
    x, rope = _parts(x)
    tiles = words.rows(x, TILE)
    scale = np.maximum(np.max(np.abs(tiles), axis=-1) / np.float32(448), np.float32(2.0**-126))
    codes = FloatType.named("f8E4M3FN").nearest(tiles / scale[..., np.newaxis])
    rope = FloatType.named("bf16").encode(rope)
    latent = codes.reshape(*x.shape[:-1], LATENT)
    return np.concatenate([latent, words.little_endian(scale, "<f4"), words.little_endian(rope, "<u2")], axis=-1)
