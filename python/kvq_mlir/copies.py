"""Copying sequences from one cache into another, or within one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .checks import check_indices
from .compiler import kernel
from .ir import reorder as _reorder_ir

if TYPE_CHECKING:
    from .cache import Cache


def copy_sequences(cache: Cache, sources: list[int]) -> None:
    """Sequence b becomes sequence sources[b], but for pages that they share. Counts stay as they are."""
    moves = {b: source for b, source in enumerate(sources) if b != source}
    while ready := {b: source for b, source in moves.items() if b not in moves.values()}:
        copy_from(cache, cache, ready)
        moves = {b: source for b, source in moves.items() if b not in ready}
    if moves:  # in cycles: each sequence waits for another
        spare = _make_like(cache, 1, cache.capacity)
        while moves:
            _rotate(cache, moves, spare)


def copy_from(
    target: Cache, cache: Cache, moves: dict[int, int], counts: tuple[np.ndarray, np.ndarray] | None = None
) -> None:
    """Sequence b of `target` becomes moves[b] of `cache`. Where both are one, no sequence is both read and written.

    counts: lengths and flushed of `cache`, its own by default. Those of `target` stay as they are. Pages are copied
    only where both page tables are the caller's.
    """
    if not moves:
        return
    sources = np.full(target.batch, -1, np.int64)
    sources[list(moves)] = list(moves.values())
    lengths, flushed = counts or (cache._lengths, cache._flushed)
    compiled = kernel(
        _reorder_ir.reorder,
        (cache.batch, target.batch),
        cache.dynamic_type,
        target.dynamic_type,
        target.has_window,
        target._pages is not None,
        device=target.device,
    )
    counts = (lengths, flushed) if target.has_window else (lengths,)
    tables = ()
    if target._pages is not None:
        stored = lengths if target.format.is_exact else flushed
        shares = not (target._pages.is_given and cache._pages.is_given)
        tables = (*cache._tables, *target._tables, stored[np.maximum(sources, 0)] * shares)
    compiled.invoke("reorder", (*cache._arrays, sources, *counts, *tables, *target._arrays))


def select(cache: Cache, indices: Sequence[int], capacity: int) -> Cache:
    """A cache of its own, of another capacity, whose sequence i is a copy of sequence indices[i] of `cache`, which has no
    pages."""
    sources = check_indices(cache, indices)
    target = _make_like(cache, len(sources), capacity)
    copy_from(target, cache, dict(enumerate(sources)))
    target._lengths[:], target._flushed[:] = cache._lengths[sources], cache._flushed[sources]
    for ring, source in zip(target._rings, cache._rings, strict=True):
        ring.lost[:] = source.lost[sources]
    return target


def _make_like(cache: Cache, batch: int, capacity: int) -> Cache:
    """An empty cache for `batch` sequences of what `cache` keeps."""
    return type(cache)(
        batch,
        cache.kv_heads,
        capacity,
        cache.head_dim,
        cache.format,
        cache.dtype,
        cache.exact_first,
        cache.recent,
        residual=cache.residual,
        page=cache.page,
        page_table=None if cache.page is None else np.arange(cache._pages.table.shape[1])[np.newaxis],
        ring=cache.ring,
        keep_first=cache.keep_first,
        token_major=cache.token_major,
        given=cache._given,
        side=cache.side,
        name=cache.name,
        device=cache.device,
    )


def _rotate(cache: Cache, moves: dict[int, int], spare: Cache) -> None:
    """Moves the sequences of one cycle, and drops them from `moves`."""
    first = target = next(iter(moves))
    copy_from(spare, cache, {0: first})
    spare._lengths[0], spare._flushed[0] = cache._lengths[first], cache._flushed[first]
    while (source := moves.pop(target)) != first:
        copy_from(cache, cache, {target: source})
        target = source
    copy_from(cache, spare, {target: 0})
