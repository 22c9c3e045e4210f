"""The multiple-choice knapsack: of each item one option, the least total value within a total weight. Exact.

Dynamic programming over the Pareto front of partial choices (weight against value). A partial choice is dropped where
another one is nowhere worse, and where even its linear relaxation - the rest of the items taken as fractions of the
options on their lower convex hulls (Sinha and Zoltners, The multiple-choice knapsack problem, 1979) - is worse than a
choice that is known to be possible. Neither drops all optima, so that what is left at the end is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SLACK = 1e-9  # sums of floats differ by their order; a bound has to be worse by more than this to count


@dataclass(frozen=True)
class Option:
    """What one choice for an item weighs and costs."""

    weight: float
    value: float


@dataclass(frozen=True)
class Chosen:
    """An optimum: the index of each item's option, and their sums in the items' order."""

    options: tuple[int, ...]
    weight: float
    value: float


class _Item:
    """The options of an item that are worth taking, light ones first, and the corners of their lower convex hull."""

    def __init__(self, options: Sequence[Option]):
        order = sorted(range(len(options)), key=lambda i: (options[i].weight, options[i].value))
        kept: list[int] = []
        for i in order:
            if not kept or options[i].value < options[kept[-1]].value:
                kept.append(i)
        self.index = np.array(kept)
        self.weight = np.array([options[i].weight for i in kept], np.float64)
        self.value = np.array([options[i].value for i in kept], np.float64)
        hull: list[int] = []
        for i in range(len(kept)):
            while len(hull) > 1 and self._slope(hull[-1], i) <= self._slope(hull[-2], hull[-1]):
                hull.pop()
            hull.append(i)
        self.steps = [(self._slope(a, b), a, b) for a, b in zip(hull, hull[1:], strict=False)]

    def _slope(self, a: int, b: int) -> float:
        return (self.value[b] - self.value[a]) / (self.weight[b] - self.weight[a])


class _Relaxed:
    """The least value of items within a weight, if options could be taken in parts: convex, linear between corners."""

    def __init__(self, items: Sequence[_Item]):
        steps = sorted((slope, i, a, b) for i, item in enumerate(items) for slope, a, b in item.steps)
        self.least_weight = sum(float(item.weight[0]) for item in items)
        weights, values = [self.least_weight], [sum(float(item.value[0]) for item in items)]
        for _, i, a, b in steps:
            weights.append(weights[-1] + items[i].weight[b] - items[i].weight[a])
            values.append(values[-1] + items[i].value[b] - items[i].value[a])
        self.weights, self.values, self.steps = np.array(weights), np.array(values), steps

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        return np.interp(weight, self.weights, self.values)


def _possible_value(items: Sequence[_Item], relaxed: _Relaxed, capacity: float) -> float:
    """Of a choice along the steps of the relaxation, leaving out what does not fit."""
    at, weight, stopped = [0] * len(items), relaxed.least_weight, set()
    for _, i, a, b in relaxed.steps:
        more = items[i].weight[b] - items[i].weight[a]
        if i in stopped or weight + more > capacity:
            stopped.add(i)
        else:
            at[i], weight = b, weight + more
    return float(sum(item.value[j] for item, j in zip(items, at, strict=True)))


def least_value(items: Sequence[Sequence[Option]], capacity: float) -> Chosen | None:
    """One option of each item, whose weights sum up to `capacity` at most, with the least sum of values; None where
    even the lightest options weigh more. Weights and values are finite, of any sign; each item has an option."""
    pruned = [_Item(options) for options in items]
    rest = [_Relaxed(pruned[i:]) for i in range(len(pruned) + 1)]
    margin = SLACK * max(1.0, abs(capacity))
    if rest[0].least_weight > capacity + margin:
        return None
    # Only what fits in whatever order its weights are summed up is known to be possible.
    sure = capacity - margin
    known = _possible_value(pruned, rest[0], sure) if rest[0].least_weight <= sure else np.inf
    known += SLACK * max(1.0, abs(known)) if np.isfinite(known) else 0
    weight, value, steps = np.zeros(1), np.zeros(1), []
    for item, after in zip(pruned, rest[1:], strict=True):
        weights = (weight[:, None] + item.weight).reshape(-1)
        values = (value[:, None] + item.value).reshape(-1)
        left = capacity - weights
        keep = np.flatnonzero((left + margin >= after.least_weight) & (values + after(left) <= known))
        keep = keep[np.lexsort((values[keep], weights[keep]))]
        front = values[keep] < np.minimum.accumulate(np.concatenate([[np.inf], values[keep]]))[:-1]
        keep = keep[front]
        weight, value = weights[keep], values[keep]
        steps.append(keep)
    fits = np.flatnonzero(weight <= capacity)
    return _trace(pruned, steps, weight, value, int(fits[-1])) if fits.size else None


def _trace(items: Sequence[_Item], steps: list[np.ndarray], weight: np.ndarray, value: np.ndarray, last: int) -> Chosen:
    """The options that led to a partial choice of all items."""
    options, at = [], last
    for item, keep in zip(reversed(items), reversed(steps), strict=True):
        at, option = divmod(int(keep[at]), len(item.weight))
        options.append(int(item.index[option]))
    return Chosen(tuple(reversed(options)), float(weight[last]), float(value[last]))


def least_weight(items: Sequence[Sequence[Option]], limit: float) -> Chosen | None:
    """The same with weights and values changing places: the lightest choice whose values sum up to `limit` at most."""
    found = least_value([[Option(o.value, o.weight) for o in options] for options in items], limit)
    return found and Chosen(found.options, found.value, found.weight)
