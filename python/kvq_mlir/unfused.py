"""Attention the way without fusion: rebuild the caches, then attend."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .attend import attention, find_device_of_call
from .cache import Cache
from .devices import Device


class UnfusedAttention:
    """`kvq_mlir.attention` over two caches where they are, without fusion: kernels rebuild them in memory that is kept
    from call to call, then attention reads that. To measure the fused one against."""

    def __init__(self, k: Cache, v: Cache) -> None:
        self._sides, self._exact = (k, v), (None, None)

    def __call__(self, q: Any, *, device: str | Device | None = None, **options: Any) -> Any:
        """What `attention` returns, which has the options."""
        found = find_device_of_call(device, q, *self._sides)
        pairs = zip(self._sides, self._exact, strict=True)
        self._exact = tuple(side.to_exact(exact, device=found) for side, exact in pairs)
        return attention(q, *self._exact, device=device, **options)


def unfused_attention(q: np.ndarray, k_cache: Cache, v_cache: Cache) -> np.ndarray:
    """Rebuilds both caches in float32 by compiled code, then attends with NumPy's BLAS.

    q: [1, query_heads, 1, D] float32; one sequence. Returns q's shape, float32.
    """
    tokens = int(k_cache.lengths[0])
    k, v = k_cache.dequantize()[0, :, :tokens], v_cache.dequantize()[0, :, :tokens]  # [kv_heads, tokens, D]
    scores = (q * np.float32(1 / math.sqrt(q.shape[-1]))).reshape(k.shape[0], -1, k.shape[2]) @ k.swapaxes(1, 2)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ v).reshape(q.shape)


def blas_in_use() -> str:
    """Which BLAS NumPy runs, with its kernels and threads, such as 'openblas 0.3.31, Haswell kernels, 1 thread'."""
    from threadpoolctl import threadpool_info

    found = []
    for lib in threadpool_info():
        if lib["user_api"] == "blas":
            threads = f"{lib['num_threads']} thread" + "s" * (lib["num_threads"] != 1)
            found.append(f"{lib['internal_api']} {lib['version']}, {lib.get('architecture', 'unnamed')} kernels, {threads}")
    return "; ".join(found) or "unknown to threadpoolctl"
