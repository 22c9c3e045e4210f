"""Errors of attention over what a cache gives back, row by row: `kvq_mlir.metrics` says what they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

TOP = 8  # tokens of the agreement that is reported beside that of the first


class Rebuilt(NamedTuple):
    """One side of a layer: what it is, and what a cache makes of it.

    exact, rebuilt: [kv_heads, tokens, dim]. quantized: bool [queries, tokens], which tokens query i finds as `rebuilt`,
    the others being in an exact window then; None where it finds all of them so.
    """

    exact: np.ndarray
    rebuilt: np.ndarray
    quantized: np.ndarray | None = None


@dataclass(frozen=True)
class OutputErrors:
    """Of rows [q_heads, queries]: squared L2 norms of the output's error, of the exact output, and the cosine."""

    error: np.ndarray
    norm: np.ndarray
    cosine: np.ndarray


@dataclass(frozen=True)
class AttentionErrors:
    """Errors of each row, [q_heads, queries]; the module says what they are.

    score_error, score_norm: Σ c² and Σ (s - its mean)². by_distance: sums over all rows, [bins] each, of tokens 0, 1,
    2 to 3, 4 to 7, ... before the query: "tokens", how many there are; "score", of |c|; "attention", of p; "value", of
    p |v' - v|. reconstruction: of each side, [2], squared norms of the error and of what is exact, over the tokens of the
    last query.
    """

    positions: np.ndarray  # of the queries
    score_max: np.ndarray
    score_mean: np.ndarray
    score_error: np.ndarray
    score_norm: np.ndarray
    kl: np.ndarray
    top_1: np.ndarray
    top_k: np.ndarray
    keys: OutputErrors
    values: OutputErrors
    both: OutputErrors
    key_part: np.ndarray  # a·(o' - o)
    value_part: np.ndarray  # b·(o' - o)
    by_distance: dict[str, np.ndarray]
    reconstruction: dict[str, np.ndarray]

    def summary(self, rows: np.ndarray | slice = slice(None), heads: np.ndarray | slice = slice(None)) -> dict:
        """The figures of some queries and some query heads, as plain numbers; NaN in one that it concerns shows."""

        def of(x: np.ndarray) -> np.ndarray:
            return x[heads][:, rows]

        if not of(self.kl).size:
            raise ValueError("expected at least one row, found none")
        kl = np.percentile(of(self.kl), [50, 99])
        result = {
            "score_error_max": of(self.score_max).max(),
            "score_error_mean": of(self.score_mean).mean(),
            "score_error_relative": _root_ratio(of(self.score_error), of(self.score_norm)),
            "attention_kl_mean": of(self.kl).mean(),
            "attention_kl_p50": kl[0],
            "attention_kl_p99": kl[1],
            "attention_kl_max": of(self.kl).max(),
            "attention_top_1": of(self.top_1).mean(),
            "attention_top_k": of(self.top_k).mean(),
        }
        for name in ("keys", "values", "both"):
            side = getattr(self, name)
            result[f"output_error_{name}"] = _root_ratio(of(side.error), of(side.norm))
            result[f"output_cosine_{name}"] = of(side.cosine).mean()
        total = of(self.both.error).sum()
        result["output_share_keys"] = ratio(of(self.key_part).sum(), total)
        result["output_share_values"] = ratio(of(self.value_part).sum(), total)
        return {name: float(value) for name, value in result.items()}

    def distances(self) -> list[dict]:
        """By distance to the query, nearest first: mean |c|, attention, and Σ p |v' - v|, the mean over rows."""
        sums, rows = self.by_distance, self.kl.size
        return [
            {
                "from": int(2 ** (b - 1)) if b else 0,
                "score_error_mean": float(sums["score"][b] / sums["tokens"][b]),
                "attention": float(sums["attention"][b] / rows),
                "value_error": float(sums["value"][b] / rows),
            }
            for b in np.flatnonzero(sums["tokens"])
        ]

    def reconstruction_error(self, side: str) -> float:
        """Relative L2 error of "keys" or "values" themselves."""
        error, norm = self.reconstruction[side]
        return ratio(math.sqrt(error), math.sqrt(norm))

    @classmethod
    def pooled(cls, parts: Sequence[AttentionErrors]) -> AttentionErrors:
        """Those of several layers over the same queries and tokens, as if their heads were one layer's."""
        if not parts or any(not np.array_equal(part.positions, parts[0].positions) for part in parts):
            raise ValueError("expected one or more layers with queries at the same positions")
        reconstruction = {side: sum(part.reconstruction[side] for part in parts) for side in ("keys", "values")}
        return _join(parts, parts[0].positions, 0, reconstruction)


def attention_errors(
    q: np.ndarray,
    keys: Rebuilt,
    values: Rebuilt,
    positions: Sequence[int] | np.ndarray | None = None,
    scale: float | None = None,
    top: int = TOP,
    block: int = 16,
) -> AttentionErrors:
    """Errors of causal attention over what a cache gives back.

    q: [q_heads, queries, dim]; head h reads KV head h // (q_heads / kv_heads). positions: of the queries, each of which sees
    the tokens up to its own; default: the newest. scale: of scores; default 1/sqrt(dim). top: how many tokens the agreement
    `top_k` is about (all that a row sees, if they are fewer). Works through `block` queries at a time, so that memory is
    a few times q_heads * block * tokens float64. Raises ValueError where shapes disagree, for no queries, for a position
    without a token, and for top or block below 1.
    """
    q = np.asarray(q, np.float64)
    _check_sides(q, keys, values)
    tokens, queries = np.shape(keys.exact)[1], q.shape[1]
    positions = np.arange(tokens - queries, tokens) if positions is None else np.asarray(positions)
    if positions.shape != (queries,) or positions.dtype.kind not in "iu":
        raise ValueError(f"expected {queries} integer positions, found {positions.dtype} of shape {positions.shape}")
    if not 0 <= positions.min() <= positions.max() < tokens:
        raise ValueError(f"expected positions of 0 to {tokens - 1}, found {positions.min()} to {positions.max()}")
    for name, number in (("top", top), ("block", block)):
        if number < 1:
            raise ValueError(f"expected a {name} of at least 1, found {number}")
    q = q * (1 / math.sqrt(q.shape[2]) if scale is None else scale)
    k, v = _Side.of(keys), _Side.of(values)
    parts = []
    for first in range(0, queries, block):
        rows = slice(first, first + block)
        seen = positions[rows].max() + 1  # by any of them
        parts.append(_block_errors(q[:, rows], k.cut(rows, seen), v.cut(rows, seen), positions[rows], top, tokens))
    return _join(parts, positions, 1, {"keys": k.squares(positions[-1]), "values": v.squares(positions[-1])})


def _join(
    parts: Sequence[AttentionErrors], positions: np.ndarray, axis: int, reconstruction: dict[str, np.ndarray]
) -> AttentionErrors:
    """Rows of heads (axis 0) or of queries (axis 1) after each other."""

    def join(name: str) -> object:
        found = [getattr(part, name) for part in parts]
        if isinstance(found[0], OutputErrors):
            return OutputErrors(*(np.concatenate([getattr(each, f.name) for each in found], axis) for f in fields(found[0])))
        if isinstance(found[0], dict):
            return {key: sum(each[key] for each in found) for key in found[0]}
        return np.concatenate(found, axis)

    names = [f.name for f in fields(AttentionErrors) if f.name not in ("positions", "reconstruction")]
    return AttentionErrors(positions=positions, reconstruction=reconstruction, **{name: join(name) for name in names})


class _Side(NamedTuple):
    """A side in float64: [kv_heads, tokens, dim], the error of what is rebuilt, and who finds it so."""

    exact: np.ndarray
    error: np.ndarray
    quantized: np.ndarray | None

    @classmethod
    def of(cls, side: Rebuilt) -> _Side:
        exact = np.asarray(side.exact, np.float64)
        return cls(exact, np.asarray(side.rebuilt, np.float64) - exact, side.quantized)

    def cut(self, rows: slice, tokens: int) -> _Side:
        """For some queries, which see no more than the first tokens."""
        quantized = None if self.quantized is None else self.quantized[rows, :tokens]
        return _Side(self.exact[:, :tokens], self.error[:, :tokens], quantized)

    def where_found(self, x: np.ndarray) -> np.ndarray:
        """x [..., queries, tokens], 0 for tokens that are exact."""
        return x if self.quantized is None else x * self.quantized

    def squares(self, position: int) -> np.ndarray:
        """[2]: squared norms of the error that the last query finds, and of what is exact."""
        error, exact = self.error[:, : position + 1], self.exact[:, : position + 1]
        if self.quantized is not None:
            error = error * self.quantized[-1, : position + 1, None]
        return np.array([np.sum(error**2), np.sum(exact**2)])


def _check_sides(q: np.ndarray, keys: Rebuilt, values: Rebuilt) -> None:
    if q.ndim != 3 or not q.size:
        raise ValueError(f"expected q as [q_heads, queries, dim], none of them 0, found shape {q.shape}")
    for name, side in (("keys", keys), ("values", values)):
        if np.ndim(side.exact) != 3 or np.shape(side.exact) != np.shape(side.rebuilt):
            raise ValueError(
                f"expected exact and rebuilt {name} of one shape [kv_heads, tokens, dim], found "
                f"{np.shape(side.exact)} and {np.shape(side.rebuilt)}"
            )
        mask = (q.shape[1], np.shape(side.exact)[1])
        if side.quantized is not None and (side.quantized.shape != mask or side.quantized.dtype != bool):
            raise ValueError(
                f"expected quantized {name} as bool of shape {mask}, found {side.quantized.dtype} of shape "
                f"{side.quantized.shape}"
            )
    k, v = np.shape(keys.exact), np.shape(values.exact)
    if k[:2] != v[:2]:
        raise ValueError(f"expected keys and values of as many heads and tokens, found {k[:2]} and {v[:2]}")
    if q.shape[2] != k[2]:
        raise ValueError(f"expected q with the keys' {k[2]} channels, found {q.shape[2]}")
    if k[0] == 0 or q.shape[0] % k[0]:
        raise ValueError(f"{q.shape[0]} query heads are not a multiple of {k[0]} KV heads")


def _dot(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """[q_heads, queries, dim], [kv_heads, tokens, dim] -> [q_heads, queries, tokens]."""
    rows = q.reshape(len(k), -1, q.shape[2])
    return (rows @ k.swapaxes(1, 2)).reshape(*q.shape[:2], k.shape[1])


def _weighted(p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """[q_heads, queries, tokens], [kv_heads, tokens, dim] -> [q_heads, queries, dim]."""
    return (p.reshape(len(v), -1, p.shape[2]) @ v).reshape(*p.shape[:2], v.shape[2])


def _block_errors(
    q: np.ndarray, k: _Side, v: _Side, positions: np.ndarray, top: int, tokens: int
) -> AttentionErrors:
    """Of scaled queries that see no more than the tokens given; `tokens` says how many distances there may be."""
    seen = np.arange(k.exact.shape[1]) <= positions[:, None]  # [queries, tokens]
    count = seen.sum(axis=1)
    scores, errors = _dot(q, k.exact), k.where_found(_dot(q, k.error)) * seen
    exact_log, found_log = log_softmax(scores, seen), log_softmax(scores + errors, seen)
    p, p_found = np.exp(exact_log), np.exp(found_log)
    centred = _centred(errors, seen, count)
    size = np.abs(centred)
    ranks = [_largest(s, seen, top) for s in (scores, scores + errors)]

    output, moved = _weighted(p, v.exact), _weighted(p_found, v.exact)
    added, moved_added = (_weighted(v.where_found(x), v.error) for x in (p, p_found))  # from values: with p, and with p'
    key_part = moved - output + (moved_added - added) / 2
    value_part = (added + moved_added) / 2
    total = key_part + value_part
    changes = np.subtract(exact_log, found_log, where=seen, out=np.zeros_like(p))  # -inf in both where nothing is seen
    return AttentionErrors(
        positions=positions,
        score_max=size.max(axis=-1),
        score_mean=size.sum(axis=-1) / count,
        score_error=np.einsum("hqt,hqt->hq", centred, centred),
        score_norm=np.sum(_centred(scores, seen, count) ** 2, axis=-1),
        kl=np.maximum(np.einsum("hqt,hqt->hq", p, changes), 0),
        top_1=_agreement(*(indices[..., :1] for indices in ranks), count),
        top_k=_agreement(*ranks, count),
        keys=_output_errors(moved - output, output),
        values=_output_errors(added, output),
        both=_output_errors(total, output),
        key_part=np.sum(key_part * total, axis=-1),
        value_part=np.sum(value_part * total, axis=-1),
        by_distance=_by_distance(positions, seen, tokens, size, p, v),
        reconstruction={},
    )


def _centred(x: np.ndarray, seen: np.ndarray, count: np.ndarray) -> np.ndarray:
    """x less each row's mean, over the tokens that it sees; 0 for the others."""
    x = x * seen
    return (x - (x.sum(axis=-1) / count)[..., None]) * seen


def log_softmax(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    scores = np.where(seen, scores, -np.inf)
    scores -= scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


def _largest(scores: np.ndarray, seen: np.ndarray, top: int) -> np.ndarray:
    """The tokens with the largest scores of each row, [..., top], largest first, ties to the earlier token; behind those
    that a row sees, others."""
    hidden = np.where(seen, -scores, np.inf)
    top = min(top, scores.shape[-1])
    bound = np.partition(hidden, top - 1, axis=-1)[..., top - 1 : top]
    is_candidate = ~(hidden > bound)
    # Those at the bound may be several; a stable sort of what is left takes the earlier ones.
    places = np.empty((*scores.shape[:-1], top), np.int64)
    for row in np.ndindex(scores.shape[:-1]):
        candidates = is_candidate[row].nonzero()[0]
        places[row] = candidates[hidden[row][candidates].argsort(kind="stable")[:top]]
    return places


def _agreement(exact: np.ndarray, found: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The share of the first min(top, count) of `exact` that `found` has among its own; both [heads, queries, top]."""
    valid = np.arange(exact.shape[-1]) < count[:, None]  # [queries, top]
    equal = (exact[..., :, None] == found[..., None, :]) & valid[..., :, None] & valid[..., None, :]
    return equal.sum(axis=(-1, -2)) / valid.sum(axis=-1)


def _output_errors(error: np.ndarray, exact: np.ndarray) -> OutputErrors:
    found = exact + error
    square, norm = np.sum(error**2, axis=-1), np.sum(exact**2, axis=-1)
    lengths = np.sqrt(norm * np.sum(found**2, axis=-1))
    alike = np.where(square == 0, 1.0, 0.0)  # of a zero vector: to itself 1, to another 0
    cosine = np.divide(np.sum(exact * found, axis=-1), lengths, where=lengths != 0, out=alike)
    return OutputErrors(square, norm, cosine)


def _by_distance(
    positions: np.ndarray, seen: np.ndarray, tokens: int, score: np.ndarray, p: np.ndarray, v: _Side
) -> dict[str, np.ndarray]:
    distance = np.maximum(positions[:, None] - np.arange(seen.shape[1]), 0)
    bins = np.frexp(distance)[1][seen]  # 0, 1, 2 to 3, 4 to 7: as many bits as the distance has
    length = np.sqrt(np.sum(v.error**2, axis=-1)).repeat(len(p) // len(v.error), axis=0)[:, None]
    values = {
        "tokens": seen * np.float64(len(p)),
        "score": score.sum(axis=0),
        "attention": p.sum(axis=0),
        "value": np.sum(v.where_found(p) * length, axis=0),
    }
    return {name: np.bincount(bins, x[seen], int(np.frexp(tokens)[1]) + 1) for name, x in values.items()}


def _root_ratio(errors: np.ndarray, norms: np.ndarray) -> float:
    """The square root of the ratio of two sums."""
    return ratio(math.sqrt(errors.sum()), math.sqrt(norms.sum()))


def ratio(error: float, norm: float) -> float:
    """Of two norms; 0 of two zeros."""
    if norm == 0 and error == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(np.float64(error) / np.float64(norm))
