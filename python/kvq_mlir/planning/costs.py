"""What each way of keeping a side of a layer costs: bytes counted, errors measured, KL predicted from few measured
passes.

To second order in a small disturbance of the logits the KL is quadratic in it, and so in the error of a layer's
attention output, which takes no pass of the model to measure. So KL = w · e², where e is the relative L2 error of the
output, and w is how much the rest of the model makes of an error there. w is measured: by passes in which this side of
this layer alone is quantized, which start at that layer, one for each probe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from ..cache_types import SIDES
from ..evaluation.kept import EXACT, Kept
from ..evaluation.sensitivity import Calibration
from ..given import Given
from .ledger import Ledger
from .problem import Cost, Plan

Progress = Callable[[str], None]


class Costs:
    """Of a model on a calibration text. make: the calibration, which is not made where the ledger knows everything.

    probes: for each side the formats whose KL is measured; w is the geometric mean over them.
    """

    def __init__(
        self,
        make: Callable[[], Calibration],
        layers: int,
        ledger: Ledger,
        probes: Mapping[str, Sequence[Kept]],
        progress: Progress = lambda text: None,
    ):
        self._make, self.layers, self._ledger, self._probes, self._progress = make, layers, ledger, probes, progress

    @cached_property
    def calibration(self) -> Calibration:
        return self._make()

    def output_errors(self, side: str, kept: Kept) -> list[float]:
        """Of each layer, with the other side exact."""

        def measure() -> list[float]:
            self._progress(f"output error of {side} as {kept}")
            return [self.calibration.output_error(layer, *_alone(side, kept)) for layer in range(self.layers)]

        return self._ledger.find("output_error", side, str(kept), measure=measure)

    def score_errors(self, kept: Kept) -> list[float]:
        """Of the keys of each layer."""

        def measure() -> list[float]:
            self._progress(f"score error of keys as {kept}")
            return [self.calibration.score_error(layer, kept) for layer in range(self.layers)]

        return self._ledger.find("score_error", str(kept), measure=measure)

    def kl(self, layer: int, side: str, kept: Kept) -> float:
        """Measured, with this side of this layer alone quantized."""

        def measure() -> float:
            self._progress(f"KL of layer {layer}, {side}, as {kept}")
            return self.calibration.kl(layer, *_alone(side, kept))

        return self._ledger.find("kl", layer, side, str(kept), measure=measure)

    def weight(self, layer: int, side: str) -> float:
        """Nats of KL by squared relative output error."""
        logs = [
            math.log(self.kl(layer, side, probe) / self.output_errors(side, probe)[layer] ** 2)
            for probe in self._probes[side]
        ]
        return math.exp(sum(logs) / len(logs))

    def of(
        self,
        menu: Mapping[str, Sequence[Kept]],
        count_bytes: Callable[[str, Kept], int],
        with_scores: bool = False,
    ) -> dict[tuple[int, str], dict[Kept, Cost]]:
        """The costs of all formats of a menu, by side, in all layers; of 16 bits too. with_scores: score errors of
        keys, which take longer than all else."""
        found: dict[tuple[int, str], dict[Kept, Cost]] = {}
        for side in SIDES:
            coded = [kept for kept in menu[side] if kept != EXACT]
            bytes_ = {kept: count_bytes(side, kept) for kept in (*coded, EXACT)}
            errors = {kept: self.output_errors(side, kept) for kept in coded}
            scores = {kept: self.score_errors(kept) for kept in coded} if with_scores and side == "keys" else {}
            for layer in range(self.layers):
                weight = self.weight(layer, side)
                options = {EXACT: Cost(bytes_[EXACT], 0.0, 0.0, 0.0)}
                for kept, error in errors.items():
                    score = scores[kept][layer] if kept in scores else None
                    options[kept] = Cost(bytes_[kept], weight * error[layer] ** 2, error[layer], score)
                found[layer, side] = options
        return found

    def given(self, plan: Plan) -> dict[tuple[int, str], Given]:
        """What the caches of a plan ask for, from the calibration text."""
        asked = {where: kept for where, kept in plan.items() if asks(kept)}
        return {where: self.calibration.given(kept, *where) for where, kept in asked.items()}


def asks(kept: Kept) -> bool:
    """Whether a cache of it has to be given something: static ranges, means or outer scales."""
    return any(fmt.is_static or fmt.center or fmt.outer_scale for fmt in kept.parsed.formats)


def _alone(side: str, kept: Kept) -> tuple[Kept, Kept]:
    """(keys, values) with one side kept so."""
    return (kept, EXACT) if side == "keys" else (EXACT, kept)
