"""Which tokens a ring still holds."""

from __future__ import annotations

import numpy as np

from . import _kvq
from .format import Format


class Ring:
    """Of each of `batch` sequences the first `keep_first` tokens and the newest, `ring` in all, of one format.

    Of quantized tokens (all, in an exact format), counted from the end of the exact first ones, the first `kept` rows
    stay and the newest `rows` go round, both whole groups of n, or whole pages. Attributes: newest, tokens beside the first ones; lost,
    int64 [batch]: rows kept to lost[b] of sequence b have been written over.
    """

    def __init__(
        self, batch: int, ring: int, keep_first: int, exact_first: int, fmt: Format, page: int | None = None
    ) -> None:
        self.keep_first, self.newest = keep_first, ring - keep_first
        self._is_exact, self._group = fmt.is_exact, fmt.tokens
        self._exact_first = 0 if fmt.is_exact else exact_first
        size = page or self._group
        self.kept, self.rows = (
            -(-tokens // size) * size for tokens in (keep_first - self._exact_first, self.newest)
        )
        self.lost = np.zeros(batch, np.int64)

    def oldest(self, lengths: np.ndarray, window: int | None = None) -> np.ndarray:
        """The oldest token beside the first ones that sequences of these lengths hold, of the newest `window` if given."""
        newest = self.newest if window is None else min(window, self.newest)
        return np.maximum(self.keep_first, lengths - newest)

    def advance(self, lengths: np.ndarray, flushed: np.ndarray) -> None:
        """Sequences have come to hold so many tokens, and so many quantized ones."""
        stored = lengths if self._is_exact else flushed
        np.maximum(self.lost, stored - self.rows, out=self.lost)

    def check_cut(self, b: int, length: int, window: int | None = None) -> None:
        """`Error` if sequence b, cut to `length` tokens, would hold some, among the newest `window` if given, that have
        been written over."""
        oldest, lost = int(self.oldest(np.array(length), window)), int(self.lost[b]) + self._exact_first
        if length > self._exact_first + self.kept and oldest < lost:
            raise _kvq.Error(
                f"sequence {b}: {length} tokens would go back to token {oldest}, but the ring has written over all "
                f"before {lost} except the first ones"
            )

    def cut(self, lengths: np.ndarray) -> None:
        """Sequences have been cut to these lengths."""
        self.lost[lengths <= self._exact_first + self.kept] = 0

    def copy(self, sources: np.ndarray) -> None:
        """Sequence b has become sequence sources[b]."""
        self.lost = self.lost[sources]

    def row_bounds(self, lengths: np.ndarray, stored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the rows end that stay, and where those begin that the newest tokens need, whole groups."""
        oldest = np.maximum(self.oldest(lengths) - self._exact_first, 0)
        return np.minimum(stored, self.kept), np.clip(oldest // self._group * self._group, self.kept, None)
