"""Plans beside the best formats that are the same in all layers, at equal bytes, on held-out text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

from ..cache_types import SIDES
from ..evaluation.kept import Kept
from .held_out import Measured
from .problem import Cost, Plan, starts_apart

Costs = Mapping[tuple[int, str], Mapping[Kept, Cost]]


@dataclass(frozen=True)
class Uniform:
    """A format for the keys of all layers and one for the values."""

    keys: Kept
    values: Kept
    bytes: int
    predicted_kl: float

    @classmethod
    def of(cls, costs: Costs, keys: Kept, values: Kept) -> Uniform:
        """With what it takes and is predicted to cost, of all layers."""
        kept = {"keys": keys, "values": values}
        found = [options[kept[side]] for (_, side), options in costs.items()]
        return cls(keys, values, sum(cost.bytes for cost in found), sum(cost.kl for cost in found))

    def plan(self, layers: int) -> Plan:
        """The same for all layers."""
        return {
            (layer, side): kept
            for layer in range(layers)
            for side, kept in zip(SIDES, (self.keys, self.values), strict=True)
        }


def rank_uniform(costs: Costs, budget: int) -> list[Uniform]:
    """All pairs of formats within a budget of bytes, the least predicted KL first."""
    pairs = product(*(costs[0, side] for side in SIDES))
    found = (Uniform.of(costs, *pair) for pair in pairs if not starts_apart(*pair))
    return sorted((each for each in found if each.bytes <= budget), key=lambda uniform: uniform.predicted_kl)


def with_best_single(ranked: list[Uniform], count: int) -> list[Uniform]:
    """The first `count`, and the first whose keys and values have the same format, if there is one."""
    single = [uniform for uniform in ranked if uniform.keys == uniform.values]
    return list(dict.fromkeys([*ranked[:count], *single[:1]]))


@dataclass(frozen=True)
class Row:
    """One line of the comparison."""

    name: str
    bytes: int
    predicted_kl: float
    measured: Measured


def measure_rows(
    uniforms: list[Uniform], layers: int, measure: Callable[[Plan], Measured], show: Callable[[str], None]
) -> list[Row]:
    """Those of formats that are the same in all layers, the least measured KL first."""
    rows = []
    for index, uniform in enumerate(uniforms):
        show(f"uniform {index + 1} of {len(uniforms)}: K {uniform.keys} | V {uniform.values}")
        measured = measure(uniform.plan(layers))
        rows.append(Row(f"K {uniform.keys} | V {uniform.values}", uniform.bytes, uniform.predicted_kl, measured))
    return sorted(rows, key=lambda row: row.measured.kl)


def table(rows: list[Row], bits: Callable[[int], float]) -> list[str]:
    """A line for each: bits per element, predicted KL, measured KL and its interval, same likeliest token,
    perplexity."""
    lines = [f"{'bits':>6} {'predicted':>9} {'KL':>8} {'95 %':>19} {'same top':>8} {'perplexity':>10}  policy"]
    for row in rows:
        low, high = row.measured.kl_interval
        lines.append(
            f"{bits(row.bytes):6.3f} {row.predicted_kl:9.5f} {row.measured.kl:8.5f} {f'{low:.5f} {high:.5f}':>19} "
            f"{row.measured.same_top:8.1%} {row.measured.perplexity:10.3f}  {row.name}"
        )
    return lines


def verdict(plan: Row, best: Row) -> str:
    """How much of the best uniform format's KL is left."""
    low, high = plan.measured.ratio_interval(best.measured)
    ratio = plan.measured.kl / best.measured.kl
    return f"The plan's mean KL is {ratio:.3f} of the best uniform format's (95 % {low:.3f} to {high:.3f})."
