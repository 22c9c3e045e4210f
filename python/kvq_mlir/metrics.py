"""Measures of the error that a cache format costs: NumPy arrays in, plain numbers out, all in float64.

With queries q (times the score scale), exact keys k and values v, and those that a cache gives back, k' and v', a row is
one query of one head, and its sums run over the n tokens that it sees:

    scores       s_t = q·k_t, s'_t = q·k'_t, and their error e_t = s'_t - s_t
    score error  c_t = e_t - Σ e / n, since the softmax does not see what is equal for all tokens; maximum and mean of |c|
    attention    p = softmax(s), p' = softmax(s'); KL(p || p') = Σ p_t log(p_t / p'_t), in nats
    top k        the share of the k largest s_t that are among the k largest s'_t, ties to the earlier token
    output       o = Σ p_t v_t; from keys alone Σ p'_t v_t, from values alone Σ p_t v'_t, from both o' = Σ p'_t v'_t;
                 |o' - o| / |o|, and the cosine of o' and o
    parts        o' - o = a + b, a = Σ (p'_t - p_t) (v_t + v'_t) / 2 from keys, b = Σ (p_t + p'_t) / 2 (v'_t - v_t) from
                 values: what each adds, averaged over which comes first. Their shares, a·(o' - o) and b·(o' - o) over
                 |o' - o|², add up to 1.

How well keys and values themselves are rebuilt (`reconstruction`) is a diagnostic alone: an error that the softmax does
not see, or of a token that nobody attends to, costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .attention_metrics import TOP, AttentionErrors, OutputErrors, Rebuilt, attention_errors, log_softmax, ratio

__all__ = [
    "TOP",
    "AttentionErrors",
    "OutputErrors",
    "Rebuilt",
    "attention_errors",
    "key_score_error",
    "next_token_kl",
    "relative_l2",
]


def relative_l2(actual: np.ndarray, expected: np.ndarray) -> float:
    """|actual - expected| / |expected| in the L2 norm, over all elements, in float64.

    0 if both are zero, inf if only `expected` is. NaN in either gives NaN, so compare with `not (error <= bound)`.
    Raises ValueError for different shapes.
    """
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    if actual.shape != expected.shape:
        raise ValueError(f"shapes differ: {actual.shape} and {expected.shape}")
    return ratio(np.linalg.norm(actual - expected), np.linalg.norm(expected))


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
    return ratio(np.sqrt(error_squared), np.sqrt(norm_squared))


def _centred_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Scores [kv_heads, ratio, tokens] of q [kv_heads, ratio, dim], each row less its mean."""
    scores = np.einsum("hrd,htd->hrt", q, k)
    return scores - scores.mean(axis=-1, keepdims=True)


def next_token_kl(logits: np.ndarray, exact_logits: np.ndarray) -> np.ndarray:
    """KL(exact || found) of softmax distributions, in nats, float64; logits [..., vocabulary], result [...].

    Raises ValueError for different shapes.
    """
    logits, exact_logits = np.asarray(logits, np.float64), np.asarray(exact_logits, np.float64)
    if logits.shape != exact_logits.shape:
        raise ValueError(f"shapes differ: {logits.shape} and {exact_logits.shape}")
    found, exact = (log_softmax(x, np.True_) for x in (logits, exact_logits))
    return np.maximum(np.sum(np.exp(exact) * (exact - found), axis=-1), 0)
