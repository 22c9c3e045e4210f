"""What a cache gives back of given tokens, as a decoder finds it: by compiled code, windows included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _kvq
from ..cache import Cache
from ..format import Format, Segments
from ..given import Given
from ..metrics import Rebuilt
from ..policy import Choice
from ..rope import Rope, rope_on_reading


class Found(NamedTuple):
    """One side of a layer under a policy: `rebuilt` as metrics take it; elements that codes could not hold, by KV head,
    or None where the format's rule has none to count; and what its cache allocates, in bytes."""

    rebuilt: Rebuilt
    saturated: np.ndarray | None
    nbytes: int


def flushed_at(choice: Choice, lengths: np.ndarray) -> np.ndarray:
    """How many tokens behind the first exact ones a cache has quantized once it holds so many."""
    if choice.format.is_exact:
        return np.zeros_like(lengths)
    together = choice.residual or choice.format.tokens
    return np.maximum(lengths - choice.exact_first - choice.recent, 0) // together * together


def quantized_at(choice: Choice, positions: np.ndarray, tokens: int) -> np.ndarray:
    """bool [queries, tokens]: which tokens a query at a position, appended just before, finds quantized."""
    behind = np.arange(tokens) - choice.exact_first
    return (behind >= 0) & (behind < flushed_at(choice, positions + 1)[:, None])


def exact(x: np.ndarray, dtype: str = "f16") -> np.ndarray:
    """What a cache of `dtype` without quantization gives back of tokens [kv_heads, tokens, dim], float32."""
    cache = Cache(1, *x.shape, Format("codes = none"), dtype)
    cache.append(np.ascontiguousarray(x[None]))
    return cache.dequantize()[0]


def find(
    choice: Choice,
    x: np.ndarray,
    positions: np.ndarray,
    dtype: str = "f16",
    given: Given | None = None,
    rope: Rope | None = None,
) -> Found:
    """The tokens x [kv_heads, tokens, dim] of the heads that a choice is about, as queries at positions find them.

    given: static ranges and the like, where the format asks for them. rope: what turned keys, for a cache that keeps them
    as they were before. Raises `Error`, a ValueError, naming layer and side, for what the cache does not take.
    """
    where = f"layer {choice.layer}, {choice.side}"
    turning = rope_on_reading(choice.format, rope, where)
    stored = x if turning is None else turning.turn_back(x)
    settings = choice.windows | choice.storage | {"side": choice.side, "given": given}
    cache = Cache(1, *x.shape, choice.format, dtype, **settings, name=where)
    mask = None if choice.format.is_exact else quantized_at(choice, positions, x.shape[1])
    saturated = _append(cache, np.ascontiguousarray(stored[None]))
    rebuilt = cache.dequantize()[0]
    if turning is not None:
        rebuilt = turning.turn(rebuilt)
    return Found(Rebuilt(exact(x, dtype), rebuilt, mask), saturated, cache.nbytes)


def stored_rows(fmt: Format | Segments, x: np.ndarray, rope: Rope | None, where: str) -> np.ndarray:
    """What a cache stores of the tokens x [..., tokens, dim] from position 0 on: keys as they were before RoPE, if its
    format says so. Raises what `rope_on_reading` does."""
    rope = rope_on_reading(fmt, rope, where)
    return x if rope is None else rope.turn_back(x)


def _append(cache: Cache, x: np.ndarray) -> np.ndarray | None:
    """Appends tokens of one sequence, and counts what saturates where the format can."""
    if cache.format.is_exact:
        cache.append(x)
        return np.zeros(x.shape[1], np.int64)
    try:
        return cache.append(x, count_saturated=True)[0]
    except _kvq.Error as error:  # of the compiler: rules of engines whose codes are of a scale that is not stored
        if "'saturated'" not in str(error):
            raise
    cache.append(x)
    return None
