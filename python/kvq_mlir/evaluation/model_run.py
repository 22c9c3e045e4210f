"""Whole passes of a model under policies: how far the distributions of its next tokens move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..fixtures import Layer
from ..policy import Choice
from .distributions import Baseline, TokenStatistics
from .kept import EXACT, uniform
from .measure import Givens, position_ends
from .passes import Block, CachedModel
from .recording import Recording

if TYPE_CHECKING:
    from ..model import Model


class ModelRun:
    """A model over one text. The pass that others are compared with is over 16-bit caches, and it is recorded.

    ids: [T] token ids. `recording`: the queries, keys and values of all layers in that pass.
    """

    def __init__(self, model: Model, ids: np.ndarray, source: str, threads: int = 1):
        self.model, self.ids, self.threads = model, ids, threads
        config, found = model.config, {}

        def observe(block: Block) -> None:  # without windows there is one block for each layer
            found[block.layer] = Layer(*(np.array(x[0]) for x in (block.q, block.k, block.v)))

        exact = uniform(config.layers, config.kv_heads, EXACT, EXACT)
        hidden = self._pass(exact, None, observe)
        self.baseline = Baseline(model, ids[None], hidden)
        self.recording = Recording(source, [found[layer] for layer in range(config.layers)], config.rope)

    def _pass(self, choices: Sequence[Choice], given: Givens | None, observe=None) -> np.ndarray:
        cached = CachedModel(
            self.model, choices, 1, len(self.ids), given=given, observe=observe, threads=self.threads
        )
        return cached.extend(self.ids[None])

    def measure(self, choices: Sequence[Choice], given: Givens | None = None) -> dict:
        """Perplexity of a pass under a policy, and its next-token distributions against the 16-bit ones, over all tokens
        and by position, as JSON holds them."""
        found = self.baseline.compare(self._pass(choices, given))
        exact = self.baseline.statistics
        tokens, ends = len(self.ids), position_ends(len(self.ids))
        ranges = [(first, end) for first, end in zip([0, *ends], ends)]
        return {
            **_figures(found, exact, 0, tokens),
            "positions": [{"from": first, "to": end, **_figures(found, exact, first, end)} for first, end in ranges],
        }


def _figures(found: TokenStatistics, exact: TokenStatistics, first: int, end: int) -> dict:
    """Of the tokens first to end - 1; a token's loss is that of predicting the one behind it."""
    kl, losses, exact_losses = (x[0, first:end] for x in (found.kl, found.nll, exact.nll))
    differences = losses - exact_losses
    perplexity = math.exp(losses.mean())
    spread = float(differences.std(ddof=1)) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return {
        "perplexity": perplexity,
        "exact_perplexity": math.exp(exact_losses.mean()),
        # The standard error of the difference of mean losses, times the perplexity.
        "perplexity_uncertainty": perplexity * spread,
        "next_token_kl_mean": float(kl.mean()),
        "next_token_kl_p50": float(np.percentile(kl, 50)),
        "next_token_kl_p99": float(np.percentile(kl, 99)),
        "next_token_kl_max": float(kl.max()),
        "same_top_1": float(found.same_top[0, first:end].mean()),
    }
