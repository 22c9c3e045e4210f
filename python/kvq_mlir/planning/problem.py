"""Which format for which side of which layer: the problem, and its optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..cache_types import SIDES
from ..evaluation.kept import EXACT, Kept
from ..text import InputError
from .knapsack import Chosen, Option, least_value, least_weight

Plan = Mapping[tuple[int, str], Kept]  # by layer and side


@dataclass(frozen=True)
class Cost:
    """What a way of keeping one side of one layer costs by itself, all others in 16 bits.

    bytes: of all sequences at the context; kl: the mean KL of the next-token distributions that is predicted, in nats;
    output_error, score_error: relative L2, the latter of keys and only where it is measured.
    """

    bytes: int
    kl: float
    output_error: float = 0.0
    score_error: float | None = None


@dataclass(frozen=True)
class Limits:
    """What a plan has to keep; None for no limit. Bytes and KL (predicted, nats) are of the whole plan, the errors
    those of every side of every layer by itself."""

    bytes: int | None = None
    kl: float | None = None
    kl_name: str = "KL"  # what errors call it
    output_error: float | None = None
    score_error: float | None = None


def starts_apart(keys: Kept, values: Kept) -> bool:
    """Whether attention has no kernel for the pair: groups of several tokens have to start at the same one."""
    fmts = keys.choice(0, "keys", 1).format, values.choice(0, "values", 1).format
    return all(fmt.tokens > 1 for fmt in fmts) and keys.exact_first != values.exact_first


class Problem:
    """costs: of each (layer, side) and each way that it may be kept. menu: those that are allowed, by side; by default
    all that have a cost. exempt: where only 16 bits are allowed.

    The model is separable: the KL of a plan is the sum of what its sides cost by themselves. Sides of a layer are
    chosen together, since not every pair has a kernel.
    """

    def __init__(
        self,
        costs: Mapping[tuple[int, str], Mapping[Kept, Cost]],
        limits: Limits,
        exempt: frozenset[tuple[int, str]] = frozenset(),
        menu: Mapping[str, Sequence[Kept]] | None = None,
    ):
        self.costs, self.limits = costs, limits
        self.allowed = {}
        for (layer, side), options in costs.items():
            kepts = [EXACT] if (layer, side) in exempt else options if menu is None else menu[side]
            self.allowed[layer, side] = self._allow((layer, side), {kept: options[kept] for kept in kepts})
        self.layers = sorted({layer for layer, _ in costs})

    def _allow(self, where: tuple[int, str], options: Mapping[Kept, Cost]) -> dict[Kept, Cost]:
        """The options within the limits on errors; `InputError` where there are none."""
        allowed = dict(options)
        for name, what in (("output_error", "output error"), ("score_error", "score error")):
            limit = getattr(self.limits, name)
            if limit is None or (name == "score_error" and where[1] == "values"):
                continue
            within = {kept: cost for kept, cost in allowed.items() if getattr(cost, name) <= limit}
            if not within:
                least, kept = min(((getattr(cost, name), kept) for kept, cost in allowed.items()), key=lambda x: x[0])
                raise InputError(
                    f"layer {where[0]}, {where[1]}: no format allowed keeps the {what} within {limit:.3%}; the least "
                    f"is {least:.3%}, {least - limit:.3%} above it, of '{kept}'"
                )
            allowed = within
        return allowed

    @cached_property
    def _pairs(self) -> list[list[tuple[Kept, Kept]]]:
        pairs = [
            [
                (k, v)
                for k in self.allowed[layer, "keys"]
                for v in self.allowed[layer, "values"]
                if not starts_apart(k, v)
            ]
            for layer in self.layers
        ]
        for layer, found in zip(self.layers, pairs, strict=True):
            if not found:
                raise InputError(f"layer {layer}: no pair of the formats allowed has a kernel: see exact_first")
        return pairs

    @cached_property
    def items(self) -> list[list[Option]]:
        """Of each layer, the pairs of keys and values, by bytes and KL."""
        return [
            [
                Option(*(sum(getattr(cost, of) for cost in self._costs_of(layer, pair)) for of in ("bytes", "kl")))
                for pair in pairs
            ]
            for layer, pairs in zip(self.layers, self._pairs, strict=True)
        ]

    def _costs_of(self, layer: int, pair: tuple[Kept, Kept]) -> Iterator[Cost]:
        return (self.costs[layer, side][kept] for side, kept in zip(SIDES, pair, strict=True))

    def plan(self, chosen: Chosen) -> dict[tuple[int, str], Kept]:
        """What the options of each layer are."""
        pairs = (pairs[i] for pairs, i in zip(self._pairs, chosen.options, strict=True))
        return {
            (layer, side): kept
            for layer, pair in zip(self.layers, pairs, strict=True)
            for side, kept in zip(SIDES, pair, strict=True)
        }

    def solve(self) -> Chosen:
        """The least predicted KL within the bytes; without a limit on bytes, the fewest bytes within the KL.

        Raises `InputError` where no plan keeps the limits: which one, and by how much.
        """
        limits = self.limits
        if limits.bytes is None:
            if limits.kl is None:
                raise InputError(
                    "expected a limit on bytes or on the KL: without one everything is best kept in 16 bits"
                )
            return self._lightest()
        found = self._found(least_value(self.items, limits.bytes), "bytes", "weight", limits.bytes, "{:,.0f} bytes")
        if limits.kl is not None and not found.value <= limits.kl:
            lightest = self._lightest()
            raise InputError(
                f"no plan keeps the limits on bytes and {limits.kl_name}: within {limits.bytes:,} bytes the least "
                f"predicted KL is {found.value:.6g} nats, {found.value - limits.kl:.6g} above the limit of "
                f"{limits.kl:.6g}; that takes at least {lightest.weight:,.0f} bytes, "
                f"{lightest.weight - limits.bytes:,.0f} more"
            )
        return found

    def _lightest(self) -> Chosen:
        """The fewest bytes within the KL."""
        limit, name = self.limits.kl, self.limits.kl_name
        return self._found(least_weight(self.items, limit), name, "value", limit, "{:.6g} nats")

    def _found(self, chosen: Chosen | None, what: str, of: str, limit: float, number: str) -> Chosen:
        if chosen is not None:
            return chosen
        least = sum(min(getattr(option, of) for option in options) for options in self.items)
        texts = (number.format(x) for x in (least, least - limit, limit))
        raise InputError(
            "no plan keeps the limit on {}: the least is {}, {} above the limit of {}".format(what, *texts)
        )

    def cheaper(self, chosen: Chosen) -> Chosen | None:
        """The best plan of fewer bytes; None where there is none."""
        return least_value(self.items, chosen.weight - 1)

    def better(self, chosen: Chosen) -> Chosen | None:
        """The lightest plan of a lower KL; None where there is none."""
        return least_weight(self.items, math.nextafter(chosen.value, -math.inf))


def changes(before: Plan, after: Plan) -> Sequence[tuple[int, str, Kept, Kept]]:
    """Where two plans differ."""
    return [(*where, before[where], after[where]) for where in before if before[where] != after[where]]
