"""vLLM's caches: fp8 per tensor, and int8, fp8 and int4 per token and head with the scale inline after the data.

Also the keys and values of its TurboQuant caches, the two parts of a slot.

Source: vllm-project/vllm, csrc cache kernels and v1/attention/ops: triton_reshape_and_cache_flash.py,
triton_turboquant_store.py; of TurboQuant also v1/attention/backends/turboquant_attn.py and
model_executor/layers/quantization/turboquant.
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import words

FLOOR = np.float32(1e-6)


def _with_scale(data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.concatenate([data, words.little_endian(scale, "<f4")], axis=-1)


def fp8_per_tensor(x: np.ndarray, scale: float) -> np.ndarray:
    """D bytes: e4m3(x / scale), saturating; the scale is given and kept elsewhere."""
    return FloatType.named("f8E4M3FN").nearest(np.asarray(x, np.float32) / np.float32(scale))


def _row_scale(x: np.ndarray, largest: float) -> np.ndarray:
    return np.maximum(np.max(np.abs(x), axis=-1, keepdims=True) / np.float32(largest), FLOOR)


def int8_per_token_head(x: np.ndarray) -> np.ndarray:
    """D + 4 bytes: codes x (1/s) to nearest, ties away from zero, within -128 ... 127; s = max(amax/127, 1e-6).

    Before pull request 45361 (June 2026) codes were truncated towards zero.
    """
    x = np.asarray(x, np.float32)
    scale = _row_scale(x, 127)
    codes = np.clip(words.half_away(x * (words.ONE / scale)), -128, 127)
    return _with_scale(words.little_endian(codes, "i1"), scale)


def fp8_per_token_head(x: np.ndarray) -> np.ndarray:
    """D + 4 bytes: e4m3(x (1/s)), saturating; s = max(amax/448, 1e-6)."""
    x = np.asarray(x, np.float32)
    scale = _row_scale(x, 448)
    return _with_scale(FloatType.named("f8E4M3FN").nearest(x * (words.ONE / scale)), scale)


def int4_per_token_head(x: np.ndarray) -> np.ndarray:
    """D/2 + 4 bytes of a row that is already rotated (signs, then an unnormalized Hadamard transform).

    s = max((max - min)/15, 1e-6), zp = clamp(round(-min/s), 0, 15), code = clamp(round(x/s + zp), 0, 15), ties away
    from zero, even element in the low nibble. zp replaces the 4 lowest mantissa bits of s.
    """
    x = np.asarray(x, np.float32)
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    scale = np.maximum((high - low) / np.float32(15), FLOOR)
    point = np.clip(words.half_away(-low / scale), 0, 15)
    codes = np.clip(words.half_away(x / scale + point), 0, 15)
    stored = (scale.view(np.uint32) & np.uint32(0xFFFFFFF0)) | point.astype(np.uint32)
    return np.concatenate([words.even_low(codes), words.little_endian(stored, "<u4")], axis=-1)


def turboquant_centroids(bits: int, dim: int) -> np.ndarray:
    """The 2^bits centroids for N(0, 1/dim), float32: Lloyd's iteration from equal steps over 3.5 deviations.

    The mean of a cell is that of 200 trapezoids over it; the outermost cells end at 10.5 deviations. At most 200 rounds,
    until no centroid moves by 1e-10.
    """
    deviation, count = dim**-0.5, 2**bits
    centroids = 7 * deviation * ((np.arange(count) + 0.5) / count - 0.5)
    for _ in range(200):
        middles = (centroids[1:] + centroids[:-1]) / 2
        edges = np.concatenate([[-10.5 * deviation], middles, [10.5 * deviation]])
        x = np.linspace(edges[:-1], edges[1:], 201)
        weights = np.exp(-((x / deviation) ** 2) / 2)
        weights[[0, -1]] /= 2
        moved = (x * weights).sum(axis=0) / weights.sum(axis=0)
        if np.max(np.abs(moved - centroids)) < 1e-10:
            break
        centroids = moved
    return centroids.astype(np.float32)


def turboquant_keys(x: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(codes, norms, margins) of keys [..., D], in float64: uint8 and float64 [..., D], float64 [...].

    y = H x / (|x| + 1e-8), with H the Hadamard matrix of Sylvester's order over the root of D; a code is the number of
    middles between centroids that are not above y. margins: how far y is from the nearest middle, since the engine
    computes y in f32 in an order of its own. The bytes are D bits/8, lowest bits first, then the norm |x| in f16.
    """
    x = np.asarray(x, np.float64)
    dim = x.shape[-1]
    hadamard = np.ones((1, 1))
    while len(hadamard) < dim:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    norms = np.linalg.norm(x, axis=-1)
    y = (x / (norms[..., np.newaxis] + 1e-8)) @ hadamard / np.sqrt(dim)
    centroids = turboquant_centroids(bits, dim)
    middles = ((centroids[1:] + centroids[:-1]) / np.float32(2)).astype(np.float64)
    margins = np.min(np.abs(y[..., np.newaxis] - middles), axis=-1)
    return np.searchsorted(middles, y, side="right").astype(np.uint8), norms, margins


def turboquant_values(x: np.ndarray, bits: int) -> np.ndarray:
    """D bits/8 + 4 bytes: codes lowest bits first, then s and the minimum in f16.

    s = max((max - min)/(2^b - 1), 1e-8), code = clamp(trunc((x - min)/s + 0.5), 0, 2^b - 1), value code s + min.
    """
    x = np.asarray(x, np.float32)
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    scale = np.maximum((high - low) / np.float32(2**bits - 1), np.float32(1e-8))
    codes = np.clip(np.trunc((x - low) / scale + words.HALF), 0, 2**bits - 1).astype(np.uint8)
    pair = words.little_endian(np.concatenate([scale, low], axis=-1), "<f2")
    return np.concatenate([words.bitstream(codes, bits), pair], axis=-1)
