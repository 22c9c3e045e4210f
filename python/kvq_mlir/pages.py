"""Which pages of a pool hold the tokens of which sequence."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from . import _kvq

ABSENT = -1


class PageTable:
    """The pages of `batch` sequences, up to `max_pages` each of `page` tokens, in a pool of `pages`.

    A page may belong to several sequences: it is copied for one of them before that one writes to it. With a table
    given, [batch, max_pages] of int64, pages are neither taken nor copied: they are the caller's.
    stay: of a ring, the first entries that stay; those behind them are used again, one after the other. None without.

    Attributes: table, int64 [batch, max_pages]; is_given, whether it is the caller's.
    """

    def __init__(
        self, batch: int, max_pages: int, page: int, pages: int, table: np.ndarray | None, stay: int | None = None
    ) -> None:
        self.page, self.pages, self.is_given = page, pages, table is not None
        self._max_pages, self._stay = max_pages, stay
        if table is None:
            self.table = np.full((batch, max_pages), ABSENT, np.int64)
            self._count_uses()
            return
        found = np.asarray(table)
        if found.ndim != 2 or len(found) != batch or found.dtype.kind not in "iu":
            raise _kvq.Error(
                f"expected a page table of integers [{batch}, pages], got {found.dtype} of shape {found.shape}"
            )
        self.table = np.array(found, np.int64)

    def _count_uses(self) -> None:
        """Counts the sequences that each page belongs to. The free ones are taken from the end of their list."""
        self._uses = np.bincount(self.table[self.table >= 0], minlength=self.pages)
        self._free = np.flatnonzero(self._uses == 0)[::-1].tolist()

    def _pages_of(self, rows: int) -> int:
        """How many pages hold so many rows; of a ring no more than it has."""
        count = -(-rows // self.page)
        return count if self._stay is None else min(count, self._max_pages)

    def _entries(self, begin: int, end: int) -> list[int]:
        """The entries of a page table that hold rows begin to end."""
        first, last = begin // self.page, -(-end // self.page)
        if self._stay is None:
            return list(range(first, last))
        around = self._max_pages - self._stay
        last = min(last, first + self._max_pages)  # all of a ring, from there on
        found = (i if i < self._stay else self._stay + (i - self._stay) % around for i in range(first, last))
        return list(dict.fromkeys(found))

    def prepare(self, rows: np.ndarray, new_rows: np.ndarray) -> list[tuple[int, int]]:
        """Makes pages ready for an append: sequence b holds rows[b] rows and is about to hold new_rows[b].

        Returns pages to be copied, (from, to). `Error` where pages are missing; nothing changes then.
        """
        written = [b for b in range(len(rows)) if new_rows[b] > rows[b]]
        for b in written:
            if (needed := self._pages_of(int(new_rows[b]))) > self.table.shape[1]:
                raise _kvq.Error(f"sequence {b} needs {needed} pages, its page table has {self.table.shape[1]}")
        if self.is_given:
            for b in written:
                self._check_given(b, int(rows[b]), int(new_rows[b]))
            return []
        needed = sum(
            int(self.table[b, entry] == ABSENT)
            for b in written
            for entry in self._entries(int(rows[b]), int(new_rows[b]))
        )
        copies = (copy for b in written for copy in self._take_pages(b, int(rows[b]), int(new_rows[b])))
        return self._all_or_nothing(copies, needed)

    def own(self, begin: np.ndarray, rows: np.ndarray) -> list[tuple[int, int]]:
        """Makes pages ready for a shift, which writes rows begin[b] to rows[b] of sequence b; as `prepare`."""
        if self.is_given:
            return []
        copies = (
            copy
            for b in range(len(rows))
            for index in range(begin[b] // self.page, self._pages_of(int(rows[b])))
            for copy in self._take_copy(b, index)
        )
        return self._all_or_nothing(copies, 0)

    def _all_or_nothing(self, copies: Iterable[tuple[int, int]], needed: int) -> list[tuple[int, int]]:
        """The copies, or an `Error` and the table as it was where no page is left for one."""
        before, uses, free = self.table.copy(), self._uses.copy(), list(self._free)
        try:
            return list(copies)
        except IndexError:
            self.table[:], self._uses, self._free = before, uses, free
            raise _kvq.Error(
                f"pool full: {needed} more pages are needed, and copies of shared ones; {len(free)} of {self.pages} "
                "are free"
            ) from None

    def _take_copy(self, b: int, index: int) -> list[tuple[int, int]]:
        """A page of its own for page `index` of sequence b, where others have it too."""
        shared = int(self.table[b, index])
        if self._uses[shared] == 1:
            return []
        self.table[b, index] = own = self._free.pop()
        self._uses[shared] -= 1
        self._uses[own] = 1
        return [(shared, own)]

    def _check_given(self, b: int, rows: int, new_rows: int) -> None:
        for index in self._entries(rows, new_rows):
            found = int(self.table[b, index])
            if not 0 <= found < self.pages:
                raise _kvq.Error(
                    f"sequence {b}: expected a page from 0 to {self.pages - 1} as page {index}, got {found}"
                )

    def _take_pages(self, b: int, rows: int, new_rows: int) -> list[tuple[int, int]]:
        """A page of its own for what sequence b writes; IndexError where none is left."""
        copies = []
        for entry in self._entries(rows, new_rows):
            if self.table[b, entry] != ABSENT:
                copies += self._take_copy(b, entry)
                continue
            self.table[b, entry] = own = self._free.pop()
            self._uses[own] = 1
        return copies

    def release(self, rows: np.ndarray) -> None:
        """Gives back the pages behind the first rows[b] rows of each sequence."""
        if self.is_given:
            return
        for b, count in enumerate(rows.tolist()):
            self.table[b, self._pages_of(count) :] = ABSENT
        self._count_uses()

    def share(self, sources: np.ndarray, rows: np.ndarray) -> None:
        """Sequence b has the pages that sequence sources[b] had, as far as they hold its first rows[b] rows."""
        if self.is_given:
            return
        self.table[:] = self.table[sources]
        self.release(rows)
