"""The fp8 row of DeepSeek's latent attention (vLLM's fp8_ds_mla): 656 bytes a token.

512 e4m3 | 4 f32 scales, one per 128 elements | 64 bf16. A scale is max(amax/448, 2^-126), elements are e4m3(x / scale);
the last 64 elements are the part that RoPE has rotated, rounded to bf16.
Source: vllm-project/vllm, csrc cache kernels (concat_and_cache_ds_mla).
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import words

LATENT, ROPE, TILE = 512, 64, 128


def fp8_row(x: np.ndarray) -> np.ndarray:
    """Rows [..., 576] to bytes [..., 656]."""
    x = np.asarray(x, np.float32)
    if x.shape[-1] != LATENT + ROPE:
        raise ValueError(f"expected rows of {LATENT + ROPE} elements, got {x.shape[-1]}")
    tiles = words.rows(x[..., :LATENT], TILE)
    scale = np.maximum(np.max(np.abs(tiles), axis=-1) / np.float32(448), np.float32(2.0**-126))
    codes = FloatType.named("f8E4M3FN").nearest(tiles / scale[..., np.newaxis])
    rope = FloatType.named("bf16").encode(x[..., LATENT:])
    latent = codes.reshape(*x.shape[:-1], LATENT)
    return np.concatenate([latent, words.little_endian(scale, "<f4"), words.little_endian(rope, "<u2")], axis=-1)
