"""Measures of the error that a cache format costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def relative_l2(actual: np.ndarray, expected: np.ndarray) -> float:
    """|actual - expected| / |expected| in the L2 norm, over all elements, in float64.

    0 if both are zero, inf if only `expected` is. NaN in either gives NaN, so compare with `not (error <= bound)`.
    Raises ValueError for different shapes.
    """
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    if actual.shape != expected.shape:
        raise ValueError(f"shapes differ: {actual.shape} and {expected.shape}")
    return _ratio(np.linalg.norm(actual - expected), np.linalg.norm(expected))


def key_score_error(
    q: np.ndarray, actual: Sequence[np.ndarray], expected: Sequence[np.ndarray], causal: bool = True
) -> float:
    """How much of the scores q k^T is error, after removing what the softmax does not see.

    q: [batch, q_heads, q_len, dim]. actual, expected: keys of each sequence, [kv_heads, tokens, dim]. Each row of
    scores loses its mean over the tokens that it sees (all of them, or with `causal` those up to position
    tokens - q_len + i for query i), since a shift of a whole row leaves attention as it is. Returns the relative L2
    error of what remains, over all rows, without unit: the score scale cancels. Zero, inf and NaN as in `relative_l2`.
    Raises ValueError where shapes disagree.
    """
    q = np.asarray(q, np.float64)
    if not len(actual) == len(expected) == q.shape[0]:
        raise ValueError(f"q has {q.shape[0]} sequences, the keys {len(actual)} and {len(expected)}")
    error_squared = norm_squared = 0.0
    for queries, k_actual, k_expected in zip(q, actual, expected, strict=True):
        k_actual, k_expected = np.asarray(k_actual, np.float64), np.asarray(k_expected, np.float64)
        if k_actual.shape != k_expected.shape:
            raise ValueError(f"shapes differ: {k_actual.shape} and {k_expected.shape}")
        kv_heads, tokens, _ = k_expected.shape
        q_heads, q_len, _ = queries.shape
        if kv_heads == 0 or q_heads % kv_heads:
            raise ValueError(f"{q_heads} query heads are not a multiple of {kv_heads} KV heads")
        for i in range(q_len):
            visible = max(0, tokens - q_len + i + 1) if causal else tokens
            if not visible:
                continue
            rows = queries[:, i].reshape(kv_heads, q_heads // kv_heads, -1)
            exact = _centred_scores(rows, k_expected[:, :visible])
            error_squared += np.sum((_centred_scores(rows, k_actual[:, :visible]) - exact) ** 2)
            norm_squared += np.sum(exact**2)
    return _ratio(np.sqrt(error_squared), np.sqrt(norm_squared))


def _centred_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Scores [kv_heads, ratio, tokens] of q [kv_heads, ratio, dim], each row less its mean."""
    scores = np.einsum("hrd,htd->hrt", q, k)
    return scores - scores.mean(axis=-1, keepdims=True)


def _ratio(error: float, norm: float) -> float:
    if norm == 0 and error == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(np.float64(error) / np.float64(norm))
