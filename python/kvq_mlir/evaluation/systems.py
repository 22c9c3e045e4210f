"""What a policy costs and saves beside its errors: bytes, what fits into a memory, and the time of a decode step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from .. import _kvq
from ..attend import attention
from ..bench_timing import interleave, spread
from ..cache_types import SIDES
from ..policy import Choice
from ..report import add_step, make_report, make_sides
from ..rope import rope_on_reading
from ..shapes import Shape
from ..text import InputError
from ..unfused import UnfusedAttention
from .finding import stored_rows
from .measure import Givens, given_for
from .recording import Recording


def bytes_of(
    shape: Shape,
    choices: list[Choice],
    tokens: int,
    concurrency: int,
    memory: int | None = None,
    dtype: str = "f16",
    splits: int = 1,
) -> dict:
    """Bytes of all layers for `concurrency` sequences of so many tokens, from the types of the caches; what fits into
    `memory`; temporaries and launches of a decode step. `InputError` for what no cache can be made of."""
    result = make_report(shape, make_sides(shape, choices, dtype), tokens, concurrency, memory)
    try:
        add_step(result, shape, choices, dtype, splits)
    except _kvq.Error as error:
        raise InputError(str(error)) from error
    total, step = result["total"], result["decode_step"]
    return {
        "tokens": tokens,
        "concurrency": concurrency,
        "bytes_per_token": total["bytes_per_token"],  # of one more token
        **{f"bytes_per_token_{side}": result[side]["bytes_per_token"]["total"] for side in SIDES},
        "exact_bytes_per_token": total["exact_bytes_per_token"],
        "retained_bytes_per_token": total["retained_bytes"] / (tokens * concurrency),  # windows shared out
        "retained_bytes": total["retained_bytes"],
        "allocated_bytes": total["allocated_bytes"] + total["alignment_bytes"],
        "given_bytes": total["given_bytes"],
        "temporary_bytes": total["peak_bytes"] - total["allocated_bytes"] - total["alignment_bytes"],
        "peak_bytes": total["peak_bytes"],
        "launches": step["gpu_launches_of_attention"],
        "memory": result.get("memory"),
        "types": {side: result[side]["caches"] for side in SIDES},
    }


def time_step(
    recording: Recording,
    choices: Sequence[Choice],
    concurrency: int,
    dtype: str = "f16",
    given: Givens | None = None,
    seconds: float = 0.2,
) -> dict:
    """Microseconds of all attentions of a decode step, over caches that hold the recorded tokens in each of `concurrency`
    sequences: fused, and the way without fusion, kernels that rebuild the caches before attention over these.

    Of pairs of caches of one kind one is measured. It is processor time of one thread, so that what else the machine does
    counts little.
    """
    by_place: dict[tuple[int, tuple[int, int]], dict[str, Choice]] = {}
    for choice in choices:
        by_place.setdefault((choice.layer, choice.heads), {})[choice.side] = choice
    pairs = [tuple(sides[side] for side in SIDES) for sides in by_place.values()]
    kinds = Counter(tuple(choice.anywhere() for choice in pair) for pair in pairs)
    totals, calls_made = {"fused": 0.0, "unfused": 0.0}, 0
    for kind, count in kinds.items():
        pair = next(pair for pair in pairs if tuple(choice.anywhere() for choice in pair) == kind)
        q, k, v = _filled(recording, pair, concurrency, dtype, given)
        unfused, rope = UnfusedAttention(k, v), rope_on_reading(k.format, recording.rope, k.name)
        options = {} if rope is None else rope.options(recording.tokens, recording.head_dim)
        calls = {
            "fused": lambda: attention(q, k, v, **options),
            "unfused": lambda: unfused(q, **options),
        }
        samples = interleave(calls, seconds)
        for name, times in samples.items():
            totals[name] += spread(times).median * count * 1e6
        calls_made += count
    return {
        "fused_microseconds": totals["fused"],
        "unfused_microseconds": totals["unfused"],
        "attentions": calls_made,
        "tokens": recording.tokens,
        "concurrency": concurrency,
    }


def _filled(
    recording: Recording, pair: tuple[Choice, Choice], concurrency: int, dtype: str, given: Givens | None
) -> tuple:
    """The query of the last token and the caches of a pair, the same tokens in each sequence."""
    layer, (first, end) = recording.layers[pair[0].layer], pair[0].heads
    ratio = recording.query_heads // recording.kv_heads
    caches = []
    for choice, x in zip(pair, (layer.k, layer.v), strict=True):
        name = f"layer {choice.layer}, {choice.side}"
        cache = choice.cache(
            concurrency, recording.tokens, recording.head_dim, dtype, given=given_for(choice, given), name=name
        )
        rows = stored_rows(choice.format, x[first:end], recording.rope, name)
        cache.append(np.ascontiguousarray(np.broadcast_to(rows, (concurrency, *rows.shape))))
        caches.append(cache)
    q = layer.q[first * ratio : end * ratio, -1:]
    return np.ascontiguousarray(np.broadcast_to(q, (concurrency, *q.shape))), *caches
