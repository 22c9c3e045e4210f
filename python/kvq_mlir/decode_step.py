"""What one decode step needs beside its caches: temporaries and kernel launches, measured on its IR.

A step appends one token to each cache and attends to each layer, one call after the other, so that calls share the
memory of their temporaries.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache

from . import _kvq
from .ir.decode_step import append_one, attend
from .policy import Choice
from .shapes import Shape

PIPELINE = "builtin.module(kvq-tile-pipeline{{splits={splits} {schedule}}},kvq-bufferize-pipeline{more})"
ON_CPU = dict(schedule="", more="")
ON_GPU = dict(schedule="query-tile=1 dequantize-rows=0", more=",func.func(convert-kvq-to-gpu)")


@dataclass(frozen=True)
class Temporaries:
    """What a call allocates, in bytes: once, and for each work item that runs; and kernels that it launches."""

    call: int = 0
    work_item: int = 0
    launches: int = 0


@cache
def measure(ir_text: str, splits: int, on_gpu: bool) -> Temporaries:
    """Of the one function of a module of static shapes."""
    pipeline = PIPELINE.format(splits=splits, **(ON_GPU if on_gpu else ON_CPU))
    functions = json.loads(_kvq.measure(ir_text, pipeline))
    if not functions:  # it needs nothing
        return Temporaries()
    (function,) = functions
    if function["launches_in_control_flow"]:
        raise _kvq.Error("launches in control flow, whose number is not known")
    return Temporaries(
        _sum(function["temporaries_of_a_call"]), _sum(function["temporaries_of_a_work_item"]), function["launches"]
    )


def _sum(buffers: list[dict]) -> int:
    for buffer in buffers:
        if buffer["times"]:
            raise _kvq.Error(f"a temporary of {buffer['bytes']} bytes times {buffer['times']}, which is not known")
    return sum(buffer["bytes"] for buffer in buffers)


def _pairs(choices: list[Choice]) -> Counter[tuple[Choice, Choice]]:
    """Keys and values that are attended to together, equal ones joined, with how many there are of each."""
    places: dict[tuple[int, tuple[int, int]], dict[str, Choice]] = {}
    for choice in choices:
        places.setdefault((choice.layer, choice.heads), {})[choice.side] = choice.anywhere()
    return Counter((sides["keys"], sides["values"]) for sides in places.values())


def measure_step(shape: Shape, choices: list[Choice], sequences: int, dtype: str, splits: int) -> dict:
    """The temporaries and launches of a step, as the report has them."""
    appends: Counter[str] = Counter()
    attentions: Counter[str] = Counter()
    launches = 0
    for sides, count in _pairs(choices).items():
        heads = sides[0].heads[1]
        cache_shape = (sequences, heads, shape.head_dim)
        query_heads = heads * (shape.query_heads // shape.kv_heads)
        entries = [side.entry for side in sides]
        storage = "".join(f", {name} = {size}" for name, size in sides[0].storage.items() if size)
        before_rope = sides[0].format.is_before_rope
        attention = attend(cache_shape, query_heads, dtype, entries, storage, before_rope=before_rope)
        attentions[attention] += count
        launches += count * measure(attention, splits, on_gpu=True).launches
        for side in sides:
            ir_text = append_one(cache_shape, dtype, side.side, side.entry, storage, side.format.is_before_rope)
            appends[ir_text] += count
    on_cpu = {ir_text: measure(ir_text, splits, on_gpu=False) for ir_text in appends + attentions}
    return {
        "splits": splits,
        "appends": sum(appends.values()),
        "attentions": sum(attentions.values()),
        # Of the largest call of each kind: splits keep their states in a workspace, work items and appends convert
        # between codes and floats in scratch.
        "split_workspace_bytes": max(on_cpu[ir_text].call for ir_text in attentions),
        "attention_scratch_bytes": max(on_cpu[ir_text].work_item for ir_text in attentions),
        "append_scratch_bytes": max(on_cpu[ir_text].call + on_cpu[ir_text].work_item for ir_text in appends),
        "gpu_launches_of_attention": launches,  # an append has no kernel for GPUs
    }
