"""What a pass predicts against what another one does, token by token, without keeping all logits of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Model

BLOCK = 128  # rows of logits at a time


@dataclass(frozen=True)
class TokenStatistics:
    """Of each token's next-token distribution q against the baseline's p, [sequences, T], natural logarithms.

    kl: KL(p || q) = Σ p log(p / q), float64. same_top: whether both find the same token likeliest. nll: -log q of the
    token that follows, [sequences, T - 1], float64.
    """

    kl: np.ndarray
    same_top: np.ndarray
    nll: np.ndarray

    @property
    def perplexity(self) -> float:
        """exp of the mean nll."""
        return float(np.exp(self.nll.mean()))


class Baseline:
    """A pass that others are compared with, such as one over 16-bit caches.

    Keeps its hidden states, a hundredth of its logits, which are computed again for each comparison.
    ids: [sequences, T]; hidden: normalized last hidden states, [sequences, T, channels].
    """

    def __init__(self, model: Model, ids: np.ndarray, hidden: np.ndarray):
        self.model, self.ids, self.hidden = model, ids, hidden
        self._log_sums = np.empty(ids.size, np.float64)
        self.statistics = self._by_block(hidden, self._own)

    def compare(self, hidden: np.ndarray) -> TokenStatistics:
        """Of a pass over the same tokens, by its normalized last hidden states. Raises ValueError for another shape."""
        if hidden.shape != self.hidden.shape:
            raise ValueError(f"expected hidden states of shape {self.hidden.shape}, got {hidden.shape}")
        return self._by_block(hidden, self._against)

    def _by_block(self, hidden: np.ndarray, measure: Callable) -> TokenStatistics:
        count, (sequences, tokens) = self.ids.size, self.ids.shape
        following = np.roll(self.ids, -1, axis=1).reshape(-1)  # the last one of each sequence is left out below
        kl, same, nll = np.empty(count), np.empty(count, bool), np.empty(count)
        flat, own = (x.reshape(count, -1) for x in (hidden, self.hidden))
        for first in range(0, count, BLOCK):
            rows = slice(first, min(first + BLOCK, count))
            kl[rows], same[rows], nll[rows] = measure(rows, self.model.logits(own[rows]), flat[rows], following[rows])
        shape = (sequences, tokens)
        return TokenStatistics(kl.reshape(shape), same.reshape(shape), nll.reshape(shape)[:, :-1])

    def _own(self, rows: slice, logits: np.ndarray, _: np.ndarray, following: np.ndarray) -> tuple:
        top = logits.max(axis=-1)
        self._log_sums[rows] = np.log(np.exp(logits - top[:, None]).sum(axis=-1)) + top.astype(np.float64)
        return 0, True, self._log_sums[rows] - logits[np.arange(len(logits)), following]

    def _against(self, rows: slice, logits: np.ndarray, hidden: np.ndarray, following: np.ndarray) -> tuple:
        """With d = the difference of logits: KL = log Σ p exp(Σ p d - d), whose terms do not cancel where d is
        small."""
        each, others = np.arange(len(logits)), self.model.logits(hidden)
        same = logits.argmax(axis=-1) == others.argmax(axis=-1)
        chosen = others[each, following].astype(np.float64)
        difference = np.subtract(logits, others, out=others)
        p = np.subtract(logits, self._log_sums[rows, None].astype(np.float32), out=logits)
        np.exp(p, out=p)
        p /= p.sum(axis=-1, keepdims=True)
        mean = np.einsum("rv,rv->r", p, difference)
        spread = np.exp(np.subtract(mean[:, None], difference, out=difference), out=difference)
        kl = np.log1p(np.einsum("rv,rv->r", p, np.subtract(spread, 1, out=spread)).astype(np.float64))
        return kl, same, self._log_sums[rows] + kl - mean - chosen


def bootstrap_interval(
    statistic: Callable[[np.ndarray], np.ndarray],
    sequences: int,
    tokens: int,
    *,
    block: int = 64,
    draws: int = 2000,
    coverage: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of a statistic over tokens, by resampling blocks of neighbouring ones, which are not
    independent of each other.

    statistic: takes how often each block is drawn, [draws, sequences * tokens / block], and returns [draws].
    Raises ValueError where `block` does not divide `tokens`.
    """
    if tokens % block:
        raise ValueError(f"expected blocks that divide {tokens} tokens, got {block}")
    blocks = sequences * (tokens // block)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=draws)
    low, high = np.quantile(statistic(weights), [(1 - coverage) / 2, (1 + coverage) / 2])
    return float(low), float(high)


def block_means(per_token: np.ndarray, block: int = 64) -> np.ndarray:
    """[sequences, T] -> the mean of each block of tokens, [sequences * T / block]."""
    return per_token.reshape(-1, block).mean(axis=1)
