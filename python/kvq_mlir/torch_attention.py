"""PyTorch's attention over float tensors, an optional extra beside which `bench cpu` measures."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from .cache import Cache


def missing() -> str | None:
    """What to install, if PyTorch is not there."""
    return None if find_spec("torch") else "expected the package torch, found none: pip install torch"


def torch_attention(q: np.ndarray, k_cache: Cache, v_cache: Cache) -> Callable[[int], np.ndarray]:
    """Causal attention of the newest queries over both caches, rebuilt in float32 once, on a number of threads.

    q: [1, query_heads, q_len, D] float32; one sequence.
    """
    import torch

    tokens, q_len = int(k_cache.lengths[0]), q.shape[2]
    k, v = (torch.from_numpy(side.dequantize()[:, :, :tokens].copy()) for side in (k_cache, v_cache))
    queries = torch.from_numpy(q)
    # PyTorch's own causal mask is for as many keys as queries.
    mask = torch.ones(q_len, tokens, dtype=torch.bool).tril(tokens - q_len) if 1 < q_len < tokens else None

    def attend(threads: int) -> np.ndarray:
        torch.set_num_threads(threads)
        return torch.nn.functional.scaled_dot_product_attention(
            queries, k, v, attn_mask=mask, is_causal=mask is None and q_len > 1, enable_gqa=True
        ).numpy()

    return attend
