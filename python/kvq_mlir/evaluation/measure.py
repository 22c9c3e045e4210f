"""Errors of attention under a policy, on recorded queries, keys and values: plain numbers, layer by layer and together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..cache_types import SIDES
from ..given import Given
from ..metrics import AttentionErrors, attention_errors
from ..policy import Choice
from ..rope import Rope
from .finding import Found, find
from .recording import Recording

FIRST_END = 128  # tokens of the first range of positions; each further one is twice as long
BY_HEAD = ("score_error_relative", "attention_kl_mean", "output_error_keys", "output_error_values", "output_error_both")

Finder = Callable[[Choice, np.ndarray, np.ndarray, str, Given | None, Rope | None], Found]
Givens = Mapping[tuple[int, str], Given]  # what caches ask for, by layer and side, of all KV heads


def position_ends(tokens: int) -> list[int]:
    """Where ranges of positions end: 128, 256, 512, ..., and at the last token."""
    ends = []
    end = FIRST_END
    while end < tokens:
        ends.append(end)
        end *= 2
    return [*ends, tokens]


def draw_positions(tokens: int, count: int, seed: int) -> np.ndarray:
    """About `count` positions of queries, as many from each range (all, of a range that has no more), in order."""
    rng = np.random.default_rng(seed)
    ends = position_ends(tokens)
    drawn = []
    for first, end in zip([0, *ends], ends):
        size = min(max(1, count // len(ends)), end - first)
        drawn.append(np.sort(rng.choice(np.arange(first, end), size, replace=False)))
    return np.concatenate(drawn)


def given_for(choice: Choice, given: Givens | None) -> Given | None:
    """What is given to the cache of a choice."""
    return (given or {}).get((choice.layer, choice.side))


@dataclass(frozen=True)
class LayerErrors:
    """Of one layer under a policy. saturated: by side, of each KV head, elements that codes could not hold; None where
    that cannot be counted."""

    errors: AttentionErrors
    saturated: dict[str, list[int | None]]


def measure_layer(
    recording: Recording,
    choices: Sequence[Choice],
    positions: np.ndarray,
    dtype: str = "f16",
    given: Givens | None = None,
    finder: Finder = find,
) -> LayerErrors:
    """Of the layer that `choices` are about, for all its heads. Raises `Error`, a ValueError, naming layer and side, for
    what a cache does not take."""
    layer = recording.layers[choices[0].layer]
    ratio = recording.query_heads // recording.kv_heads
    parts, saturated = [], {side: [] for side in SIDES}
    by_heads: dict[tuple[int, int], dict[str, Choice]] = {}
    for choice in choices:
        by_heads.setdefault(choice.heads, {})[choice.side] = choice
    for (first, end), sides in sorted(by_heads.items()):
        found = {}
        for side, x in zip(SIDES, (layer.k, layer.v), strict=True):
            of_side = given_for(sides[side], given)
            found[side] = finder(sides[side], x[first:end], positions, dtype, of_side, recording.rope)
            counts = found[side].saturated
            saturated[side] += [None] * (end - first) if counts is None else counts.tolist()
        queries = layer.q[first * ratio : end * ratio, positions]
        parts.append(attention_errors(queries, *(found[side].rebuilt for side in SIDES), positions))
    return LayerErrors(AttentionErrors.pooled(parts), saturated)


def measure(
    recording: Recording,
    choices: Sequence[Choice],
    positions: np.ndarray,
    dtype: str = "f16",
    given: Givens | None = None,
    threads: int = 1,
    on_layer: Callable[[], None] = lambda: None,
    finder: Finder = find,
) -> dict:
    """All figures of a policy, as JSON holds them: over all layers, by position and by distance, and layer by layer with
    heads. on_layer: is called after each layer. finder: what queries find, by default in caches that kvq fills."""
    from threadpoolctl import threadpool_limits

    by_layer = [[choice for choice in choices if choice.layer == index] for index in range(len(recording.layers))]

    def one(own: list[Choice]) -> LayerErrors:
        found = measure_layer(recording, own, positions, dtype, given, finder)
        on_layer()
        return found

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:  # layers side by side, not the sums of one product
        layers = list(pool.map(one, by_layer))
    pooled = AttentionErrors.pooled([layer.errors for layer in layers])
    return _record(pooled, recording.tokens) | {
        "saturated": {side: _total(layers, side) for side in SIDES},
        "elements": recording.layers[0].k.size * len(layers),  # of a side, quantized or not
        "layers": [
            _record(layer.errors, recording.tokens) | {"saturated": layer.saturated, "heads": _by_head(layer.errors)}
            for layer in layers
        ],
    }


def _total(layers: Sequence[LayerErrors], side: str) -> int | None:
    counts = [count for layer in layers for count in layer.saturated[side]]
    return None if None in counts else sum(counts)


def _record(errors: AttentionErrors, tokens: int) -> dict:
    return {
        **errors.summary(),
        **{f"reconstruction_error_{side}": errors.reconstruction_error(side) for side in SIDES},
        "positions": by_position(errors, tokens),
        "distances": errors.distances(),
    }


def by_position(errors: AttentionErrors, tokens: int) -> list[dict]:
    """The figures of each range of positions, from its first token up to, not including, its end."""
    ends, records = position_ends(tokens), []
    for first, end in zip([0, *ends], ends):
        rows = (errors.positions >= first) & (errors.positions < end)
        if rows.any():
            records.append({"from": first, "to": end, **errors.summary(rows)})
    return records


def _by_head(errors: AttentionErrors) -> list[dict]:
    summaries = (errors.summary(heads=np.array([head])) for head in range(len(errors.kl)))
    return [{name: summary[name] for name in BY_HEAD} for summary in summaries]


def channel_ranges(recording: Recording) -> dict[str, list]:
    """Of keys and values: the smallest and the largest element of each channel, [layers][kv_heads * dim] each."""
    return {
        side: [
            {"min": x.min(axis=1).ravel().tolist(), "max": x.max(axis=1).ravel().tolist()}
            for x in (getattr(layer, name) for layer in recording.layers)
        ]
        for side, name in zip(SIDES, "kv", strict=True)
    }
