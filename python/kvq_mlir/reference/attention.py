"""Attention in float64 over dequantized caches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .cache import Cache
from .rope import turn


def attention(
    q: np.ndarray,
    k: Cache | Sequence[np.ndarray],
    v: Cache | Sequence[np.ndarray],
    lengths: Sequence[int] | None = None,
    scale: float | None = None,
    causal: bool = True,
    return_lse: bool = False,
    *,
    positions: Sequence[int] | None = None,
    mask: np.ndarray | None = None,
    slopes: np.ndarray | None = None,
    sinks: np.ndarray | None = None,
    softcap: float | None = None,
    window: int | None = None,
    window_first: int = 0,
    value_channels: tuple[int, int] | None = None,
    rope: tuple[np.ndarray, np.ndarray] | None = None,
    rope_style: str = "half",
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """softmax(scale * q k^T) v, in float64, for each sequence and query head.

    q: [batch, q_heads, q_len, dim]. k, v: a Cache each, or one array [kv_heads, tokens, dim] per sequence; v's dim may
    differ from k's. Query head h reads KV head h // (q_heads / kv_heads). lengths: the tokens of each sequence that
    exist, default all that k holds; the rest is not read. scale: default 1/sqrt(dim). Query i of sequence b sits at
    positions[b] + i, default length - q_len + i. causal: it sees the tokens up to its own position; otherwise all.
    window: of these, the last so many positions up to its own, and the first window_first tokens.

    Scores become softcap * tanh(score / softcap), then slopes[q_head] * (token - position) and mask
    [batch or 1, q_heads or 1, q_len, >= tokens] are added; a bool mask hides tokens where it is False, a float one where
    it is -inf. sinks: [q_heads], logits in the softmax's denominator that have no value. value_channels: (begin, end)
    of v's channels.

    rope: tables of cosines and sines, [positions, pairs]: k holds keys before RoPE, and the one at position t is turned by
    row t in float64 (rule R36). rope_style: which channels are pairs.

    Returns out, float64 [batch, q_heads, q_len, v_dim], and with return_lse also the natural logarithm of the softmax
    denominator, float64 [batch, q_heads, q_len]. A row that sees no token gives out 0, lse -inf or its sink. A NaN among
    what a row sees gives NaN; tokens it does not see have no influence, whatever they hold.
    Raises ValueError, with both numbers, where shapes disagree.
    """
    q = np.asarray(q, np.float64)
    if q.ndim != 4:
        raise ValueError(f"expected q as [batch, q_heads, q_len, dim], got {q.ndim} axes")
    batch, q_heads, q_len, dim = q.shape
    keys, values = _sequences(k), _sequences(v)
    if value_channels is not None:
        values = [value[..., slice(*value_channels)] for value in values]
    for name, side in (("k", keys), ("v", values)):
        if len(side) != batch:
            raise ValueError(f"q has {batch} sequences, {name} has {len(side)}")
    if rope is not None:
        keys = [turn(key, *(np.asarray(table, np.float64)[: key.shape[1]] for table in rope), rope_style) for key in keys]
    lengths = [key.shape[1] if key.ndim == 3 else 0 for key in keys] if lengths is None else [int(n) for n in lengths]
    if len(lengths) != batch:
        raise ValueError(f"q has {batch} sequences, got {len(lengths)} lengths")
    scale = 1 / math.sqrt(dim) if scale is None else float(scale)

    held = [np.logical_and(*(_held(side, length) for side in (k, v))) for length in lengths]

    for b, (key, value, length) in enumerate(zip(keys, values, lengths, strict=True)):
        _check_sequence(b, q.shape, key, value, length)
    out_dim = values[0].shape[2] if batch else dim
    if any(value.shape[2] != out_dim for value in values):
        raise ValueError(f"v has a different dim in different sequences: {[value.shape[2] for value in values]}")
    out = np.zeros((batch, q_heads, q_len, out_dim))
    lse = np.full((batch, q_heads, q_len), -np.inf)
    for b, (key, value, length) in enumerate(zip(keys, values, lengths, strict=True)):
        ratio = q_heads // key.shape[0]
        for h, i in np.ndindex(q_heads, q_len):
            position = i + (length - q_len if positions is None else int(positions[b]))
            token = np.arange(length)
            sees = held[b].copy()
            if causal:
                sees &= token <= position
            if window is not None:
                sees &= (token > position - window) | (token < window_first)
            bias = np.zeros(length)
            if slopes is not None:
                bias += float(slopes[h]) * (token - position)
            if mask is not None:
                row = mask[b % mask.shape[0], h % mask.shape[1], i, :length]
                hidden = ~row if row.dtype == bool else np.isneginf(row)
                sees &= ~hidden
                bias += 0 if row.dtype == bool else np.where(hidden, 0, row.astype(np.float64))
            sink = -np.inf if sinks is None else float(sinks[h])
            out[b, h, i], lse[b, h, i] = _attend(
                q[b, h, i],
                key[h // ratio, :length][sees],
                value[h // ratio, :length][sees],
                scale,
                softcap,
                bias[sees],
                sink,
            )
    return (out, lse) if return_lse else out


@np.errstate(invalid="ignore", over="ignore", under="ignore")
def _attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, softcap: float | None, bias: np.ndarray, sink: float
) -> tuple[np.ndarray, float]:
    """One query: q [dim], k and v [tokens, dim], bias [tokens]. Its output [v dim] and the log of its denominator."""
    scores = k @ q * scale
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores + bias
    top = max([sink, *scores]) if not np.isnan(scores).any() else np.nan
    if top == -np.inf:
        return np.zeros(v.shape[1]), -np.inf
    weights = np.exp(scores - top)
    total = weights.sum() + np.exp(sink - top)
    return (weights / total) @ v, top + np.log(total)


def _sequences(side: Cache | Sequence[np.ndarray]) -> list[np.ndarray]:
    if isinstance(side, Cache):
        return [side.values64(b) for b in range(side.batch)]
    return [np.asarray(x, np.float64) for x in side]


def _held(side: Cache | Sequence[np.ndarray], length: int) -> np.ndarray:
    """Which of the first `length` tokens attention may see."""
    return side.held(length) if isinstance(side, Cache) else np.ones(length, bool)


def _check_sequence(b: int, q_shape: tuple[int, ...], key: np.ndarray, value: np.ndarray, length: int) -> None:
    """ValueError where shapes disagree."""
    _, q_heads, _, dim = q_shape
    for name, x in (("k", key), ("v", value)):
        if x.ndim != 3:
            raise ValueError(f"sequence {b}: expected {name} as [kv_heads, tokens, dim], got {x.ndim} axes")
        if not 0 <= length <= x.shape[1]:
            raise ValueError(f"sequence {b}: length {length}, but {name} holds {x.shape[1]} tokens")
    kv_heads = key.shape[0]
    if value.shape[0] != kv_heads:
        raise ValueError(f"sequence {b}: k has {kv_heads} heads, v has {value.shape[0]}")
    if kv_heads == 0 or q_heads % kv_heads:
        raise ValueError(f"{q_heads} query heads are not a multiple of {kv_heads} KV heads")
    if key.shape[2] != dim:
        raise ValueError(f"sequence {b}: q has dim {dim}, k has {key.shape[2]}")
