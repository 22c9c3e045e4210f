"""A plan on one page: what each layer got and why, and what the next plans are."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from string import ascii_lowercase

from ..cache_types import SIDES
from ..evaluation.kept import EXACT, Kept
from .held_out import BLOCK, Measured
from .knapsack import Chosen
from .policy_text import by_kept, layer_ranges
from .problem import Cost, Plan, Problem, changes

NEGLECTS = (
    "Predicted: the sum of what each side of each layer costs by itself, KL = w · e² with e the relative L2 error of "
    "its attention output on the calibration text. It neglects that errors of layers add up with signs of their own "
    "and change what later layers quantize, that keys and values of a layer interact, that a KL of 1 and more grows "
    "less than with e², and that other text has other errors. Hence the measured one beside it."
)


class Names:
    """Short names of the formats of some plans: K and V with a letter, lightest first, and 16-bit."""

    def __init__(self, problem: Problem, plans: Sequence[Plan]):
        self._names: dict[tuple[str, Kept], str] = {}
        self._problem = problem
        for side in SIDES:
            layer = problem.layers[0]
            bytes_ = {kept: problem.costs[layer, side][kept].bytes for plan in plans for kept in by_kept(plan, side)}
            for index, kept in enumerate(sorted(bytes_, key=bytes_.__getitem__)):
                self._names[side, kept] = self._name(side, kept, index)

    @staticmethod
    def _name(side: str, kept: Kept, index: int) -> str:
        if kept == EXACT:
            return "16-bit"
        letters = (
            ascii_lowercase[index] if index < 26 else f"{ascii_lowercase[index // 26 - 1]}{ascii_lowercase[index % 26]}"
        )
        return f"{side[0].upper()}{letters}"

    def of(self, side: str, kept: Kept) -> str:
        """The short name."""
        return self._names[side, kept]

    def legend(self, plan: Plan, per_token: float) -> list[str]:
        """A line for each: name, bytes per token and layer, text, layers."""
        lines = []
        for side in SIDES:
            layers = by_kept(plan, side)
            for (of, kept), name in self._names.items():
                if of == side:
                    cost = self._problem.costs[self._problem.layers[0], side][kept]
                    where = layer_ranges(layers[kept], join="-", end=0) if kept in layers else "next plans alone"
                    lines.append(f"  {name:6} {cost.bytes / per_token:6.1f} B  {kept}  [{where}]")
        return lines


def step_up(options: dict[Kept, Cost], chosen: Kept) -> float | None:
    """The most KL that a heavier option saves, nats per byte; None where there is none."""
    here = options[chosen]
    saved = [(here.kl - cost.kl) / (cost.bytes - here.bytes) for cost in options.values() if cost.bytes > here.bytes]
    return max(saved, default=None)


def step_down(options: dict[Kept, Cost], chosen: Kept) -> float | None:
    """The least KL that a lighter option costs, nats per byte; None where there is none."""
    here = options[chosen]
    lost = [(cost.kl - here.kl) / (here.bytes - cost.bytes) for cost in options.values() if cost.bytes < here.bytes]
    return min(lost, default=None)


def _table(problem: Problem, plan: Plan, names: Names) -> list[str]:
    heads = f"{'':5}" + "".join(f"{side:>7}{'error':>9}{'KL':>10}{'more':>9}{'less':>9}" for side in SIDES)
    lines = [heads]
    for layer in problem.layers:
        cells = ""
        for side in SIDES:
            options, kept = problem.allowed[layer, side], plan[layer, side]
            cost = options[kept]
            prices = (price(options, kept) for price in (step_up, step_down))
            texts = ("-" if price is None else f"{price * 1024 * 1e3:.3g}" for price in prices)
            cells += f"{names.of(side, kept):>7}{cost.output_error:9.2%}{cost.kl:10.2e}" + "".join(
                f"{t:>9}" for t in texts
            )
        lines.append(f"{layer:5}{cells}")
    return lines


def _neighbour(problem: Problem, plan: Plan, chosen: Chosen, other: Chosen | None, names: Names, which: str) -> str:
    title = f"Next {which} plan"
    if other is None:
        kind = {"cheaper": "lightest", "better": "best"}[which]
        return f"{title}: none; every side has the {kind} format that is allowed."
    texts = [
        f"layer {layer} {side} {names.of(side, before)} -> {names.of(side, after)}"
        for layer, side, before, after in changes(plan, problem.plan(other))
    ]
    difference = other.weight - chosen.weight
    return (
        f"{title}: {abs(difference):,.0f} bytes {'more' if difference > 0 else 'less'}, predicted KL {other.value:.6g} "
        f"({other.value - chosen.value:+.2e}): {'; '.join(texts)}."
    )


def measured_text(measured: Measured, source: str) -> str:
    """One sentence."""
    low, high = measured.kl_interval
    return (
        f"Measured on {len(measured.kl_blocks) * BLOCK:,} tokens of {source}: mean KL {measured.kl:.4g} nats (95 % "
        f"{low:.4g} to {high:.4g}), same likeliest token {measured.same_top:.1%}, perplexity {measured.perplexity:.3f} "
        f"({measured.perplexity_increase:+.2%} of 16-bit)."
    )


def _beside(kl: float, limit: float) -> str:
    """A plan keeps its limits by what is predicted; what is measured may not."""
    return f"{'within' if kl <= limit else f'{kl - limit:.4g} above'} the limit of {limit:.4g}"


def explain(
    problem: Problem, chosen: Chosen, tokens: int, sequences: int, elements: int, measured: Measured, source: str
) -> str:
    """The page. elements: of keys and values of a token, in all layers; source: the text that was measured on."""
    plan, limits = problem.plan(chosen), problem.limits
    cheaper, better = problem.cheaper(chosen), problem.better(chosen)
    names = Names(problem, [plan, *(problem.plan(other) for other in (cheaper, better) if other is not None)])
    per_token = tokens * sequences
    budget = f" of {limits.bytes:,} allowed" if limits.bytes is not None else ", the fewest that keep the limits"
    lines = [
        f"{chosen.weight:,.0f} bytes{budget}, for {sequences} x {tokens:,} tokens: {chosen.weight / per_token:,.1f} "
        f"bytes per token, {chosen.weight * 8 / per_token / elements:.3f} bits per element.",
        f"Predicted mean KL {chosen.value:.4g} nats, a perplexity higher by {math.expm1(chosen.value):.2%}; no plan of "
        "these formats and bytes has less.",
        measured_text(measured, source),
        *([f"That is {_beside(measured.kl, limits.kl)} on {limits.kl_name}."] if limits.kl is not None else []),
        "",
        *names.legend(plan, per_token),
        "",
        *_table(problem, plan, names),
        "",
    ]
    paragraphs = [
        "error: relative L2 of the layer's attention output where this side alone is quantized. KL: what that is "
        "predicted to cost, nats. more: what the best heavier format would save, less: what the best lighter one would "
        "cost, both in thousandths of a nat per KiB. A side gets more bytes where they save more than elsewhere, until "
        "no exchange is left that lowers the sum.",
        _neighbour(problem, plan, chosen, cheaper, names, "cheaper"),
        _neighbour(problem, plan, chosen, better, names, "better"),
        NEGLECTS,
    ]
    return "\n".join(lines + [textwrap.fill(text, 118) for text in paragraphs])
