"""Whether what a cache is asked for fits it.

Each check raises `Error`, a ValueError, with what was expected and found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import _kvq

if TYPE_CHECKING:
    from .cache import Cache


def check_tokens(cache: Cache, x: np.ndarray, counts: Sequence[int] | None) -> np.ndarray:
    """The new tokens of each sequence, int64; `Error` where they do not fit."""
    expected = (cache.batch, cache.kv_heads, "tokens", cache.head_dim)
    if x.ndim != 4:
        raise _kvq.Error(f"expected tokens as [batch, kv_heads, tokens, head_dim], got {x.ndim} axes")
    if (x.shape[0], x.shape[1], x.shape[3]) != (cache.batch, cache.kv_heads, cache.head_dim):
        raise _kvq.Error(f"expected tokens of shape [{', '.join(map(str, expected))}], got {list(x.shape)}")
    tokens = x.shape[2]
    if counts is None:
        new = np.full(cache.batch, tokens, np.int64)
    else:
        new = np.asarray(counts)
        if new.shape != (cache.batch,) or new.dtype.kind not in "iu":
            raise _kvq.Error(f"expected {cache.batch} integer counts, got {new.dtype} of shape {new.shape}")
        new = new.astype(np.int64)
    for b, count in enumerate(new.tolist()):
        if not 0 <= count <= tokens:
            raise _kvq.Error(f"sequence {b}: expected a count from 0 to the {tokens} tokens given, got {count}")
    return new


def check_packed(cache: Cache, x: np.ndarray) -> None:
    if x.ndim != 3:
        raise _kvq.Error(f"expected packed tokens as [total, kv_heads, head_dim], got {x.ndim} axes")
    if x.shape[1:] != (cache.kv_heads, cache.head_dim):
        expected = f"[total, {cache.kv_heads}, {cache.head_dim}]"
        raise _kvq.Error(f"expected packed tokens of shape {expected}, got {list(x.shape)}")


def check_starts(cache: Cache, x: np.ndarray, counts: Sequence[int] | None, starts: Sequence[int]) -> np.ndarray:
    """The rows that packed tokens of each sequence start at, int64; `Error` where they do not fit."""
    check_packed(cache, x)
    if counts is not None:
        raise _kvq.Error("expected either counts or starts, got both")
    found = np.asarray(starts)
    if found.shape != (cache.batch + 1,) or found.dtype.kind not in "iu":
        raise _kvq.Error(f"expected {cache.batch + 1} integer starts, got {found.dtype} of shape {found.shape}")
    found = found.astype(np.int64)
    if found[0] < 0 or found[-1] > len(x) or np.any(np.diff(found) < 0):
        raise _kvq.Error(f"expected starts that ascend from 0 to the {len(x)} tokens given, got {found.tolist()}")
    return found


def check_positions(positions: Sequence[int] | None, is_stored: np.ndarray, are_needed: bool) -> np.ndarray:
    """The positions of tokens that RoPE turns, int64, empty where it turns none; `Error` where one that is stored has
    none, or they are of no use."""
    if are_needed != (positions is not None):
        expected = "positions, which slots do not say, with" if are_needed else "no positions without"
        raise _kvq.Error(f"expected {expected} tables of RoPE")
    if positions is None:
        return np.zeros(len(is_stored), np.int64)
    found = np.asarray(positions)
    if found.shape != is_stored.shape or (found.size and found.dtype.kind not in "iu"):
        raise _kvq.Error(f"expected {len(is_stored)} integer positions, got {found.dtype} of shape {found.shape}")
    found = found.astype(np.int64)
    least = found[is_stored].min(initial=0)
    if least < 0:
        raise _kvq.Error(f"expected positions of at least 0, got {least}")
    return found


def check_room(cache: Cache, new: np.ndarray) -> None:
    """`Error` if a sequence would outgrow the capacity."""
    for b, (count, length) in enumerate(zip(new.tolist(), cache._lengths.tolist(), strict=True)):
        if length + count > cache.capacity:
            raise _kvq.Error(
                f"cache full: sequence {b} holds {length} tokens and cannot take {count} more, "
                f"its capacity is {cache.capacity}"
            )


def check_gaps(
    cache: Cache, begin: int | Sequence[int], count: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The first token that each sequence drops and how many, int64; `Error` where they cannot be dropped."""
    if cache.ring is not None:
        raise _kvq.Error("tokens of a ring lie where their positions say, and cannot be shifted")
    found = []
    for name, given in (("begin", begin), ("count", count)):
        numbers = np.asarray(given)
        if numbers.shape not in ((), (cache.batch,)) or numbers.dtype.kind not in "iu":
            raise _kvq.Error(
                f"expected {name} as one integer or {cache.batch}, got {numbers.dtype} of shape {numbers.shape}"
            )
        found.append(np.broadcast_to(numbers, cache.batch).astype(np.int64))
    begins, counts = found
    n, first = cache.format.tokens, cache.exact_first
    for b, (start, dropped, stored) in enumerate(zip(*map(np.ndarray.tolist, (begins, counts, cache._stored)))):
        if dropped < 0:
            raise _kvq.Error(f"sequence {b}: expected a count of at least 0, got {dropped}")
        if dropped and not first <= start <= start + dropped <= first + stored:
            raise _kvq.Error(
                f"sequence {b}: expected to drop quantized tokens, {first} to {first + stored}, got {start} to "
                f"{start + dropped}"
            )
        if dropped and ((start - first) % n or dropped % n):
            raise _kvq.Error(
                f"sequence {b}: expected to drop whole groups of {n} tokens, counted from token {first}, got tokens "
                f"{start} to {start + dropped}"
            )
    return begins, counts


def check_indices(cache: Cache, indices: Sequence[int], count: int | None = None) -> list[int]:
    """Indices of sequences, `count` of them if it is given; `Error` if they are none."""
    found = np.asarray(indices)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu") or count not in (None, len(found)):
        expected = "integer indices" if count is None else f"{count} integer indices"
        raise _kvq.Error(f"expected {expected} of sequences, got {found.dtype} of shape {found.shape}")
    for index in found.tolist():
        if not 0 <= index < cache.batch:
            raise _kvq.Error(f"expected an index from 0 to {cache.batch - 1} of a sequence, got {index}")
    return found.tolist()


def check_lengths(cache: Cache, lengths: int | Sequence[int]) -> np.ndarray:
    """One length of at least 0 for each sequence, int64."""
    kept = np.asarray(lengths)
    if kept.shape not in ((), (cache.batch,)) or kept.dtype.kind not in "iu":
        raise _kvq.Error(f"expected one integer length or {cache.batch}, got {kept.dtype} of shape {kept.shape}")
    kept = np.broadcast_to(kept, cache.batch).astype(np.int64)
    for b, length in enumerate(kept.tolist()):
        if length < 0:
            raise _kvq.Error(f"sequence {b}: expected a length of at least 0, got {length}")
    return kept


def check_border(cache: Cache, b: int, length: int, window: int | None = None) -> None:
    """`Error` if sequence b cannot be cut to `length` tokens: a group of several has one scale, and a ring has not all
    tokens, of which the newest `window` are needed, or by default as many as it keeps."""
    n, quantized = cache.format.tokens, length - cache.exact_first
    if 0 < quantized < cache._flushed[b] and quantized % n:
        border = length - quantized % n
        raise _kvq.Error(
            f"sequence {b}: {length} tokens end inside a group of {n}; the nearest borders are {border} and "
            f"{border + n} tokens"
        )
    if length < cache._lengths[b]:
        for ring in cache._rings:
            ring.check_cut(b, length, window)
