"""Policies measured on text that they were not chosen by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..evaluation import Baseline, CachedModel, bootstrap_interval, uniform
from ..evaluation.distributions import block_means
from ..evaluation.kept import EXACT
from ..given import Given
from .ledger import Ledger
from .policy_text import policy_text
from .problem import Plan

if TYPE_CHECKING:
    from ..model import Model

BLOCK = 64  # tokens that are drawn together; neighbours are not independent


@dataclass(frozen=True)
class Measured:
    """Of a policy's pass against the pass over 16-bit caches: the mean KL of each block of tokens, nats, of all tokens
    how many have the same likeliest next one, and the mean losses of both, nats per token."""

    kl_blocks: np.ndarray
    same_top: float
    loss: float
    exact_loss: float

    @property
    def kl(self) -> float:
        """The mean over all tokens."""
        return float(self.kl_blocks.mean())

    @property
    def kl_interval(self) -> tuple[float, float]:
        """95 %, by bootstrap over the blocks."""
        return _interval(lambda weights: weights @ self.kl_blocks / len(self.kl_blocks), len(self.kl_blocks))

    @property
    def perplexity(self) -> float:
        return float(np.exp(self.loss))

    @property
    def perplexity_increase(self) -> float:
        """Over that of 16-bit caches, relative."""
        return float(np.exp(self.loss - self.exact_loss) - 1)

    def ratio_interval(self, other: Measured) -> tuple[float, float]:
        """95 % of this mean KL over another one's, by bootstrap over the same blocks of both."""
        return _interval(lambda weights: (weights @ self.kl_blocks) / (weights @ other.kl_blocks), len(self.kl_blocks))


def _interval(statistic, blocks: int) -> tuple[float, float]:
    return bootstrap_interval(statistic, 1, blocks * BLOCK, block=BLOCK)


class HeldOut:
    """Passes over ids, [sequences, T], of which T is a multiple of `BLOCK`, remembered in a ledger."""

    def __init__(self, model: Model, ids: np.ndarray, ledger: Ledger):
        self.model, self.ids, self._ledger = model, ids, ledger

    @cached_property
    def baseline(self) -> Baseline:
        """The pass over 16-bit caches."""
        config = self.model.config
        choices = uniform(config.layers, config.kv_heads, EXACT, EXACT)
        return Baseline(self.model, self.ids, CachedModel(self.model, choices, *self.ids.shape).extend(self.ids))

    def measure(self, plan: Plan, given: Mapping[tuple[int, str], Given]) -> Measured:
        """given: what caches ask for, by layer and side, calibrated elsewhere."""

        def run() -> dict:
            choices = [each.choice(*where, self.model.config.kv_heads) for where, each in plan.items()]
            cached = CachedModel(self.model, choices, *self.ids.shape, given=given)
            found = self.baseline.compare(cached.extend(self.ids))
            return {
                "kl_blocks": block_means(found.kl, BLOCK).tolist(),
                "same_top": float(found.same_top.mean()),
                "loss": float(found.nll.mean()),
                "exact_loss": float(self.baseline.statistics.nll.mean()),
            }

        found = self._ledger.find("held out", policy_text(plan), measure=run)
        return Measured(np.array(found["kl_blocks"]), found["same_top"], found["loss"], found["exact_loss"])
