"""The rows that contain a term, and how often they do: the lexical half of the index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow_array import GrowArray

Rows = NDArray[np.int32]
Counts = NDArray[np.float32]

_TAIL_SHARE = 0.1
_TAIL_AT_LEAST = 20_000


class Postings:
    """Term occurrences in two parts: a sorted base that is searched, and a short tail that is scanned.

    The tail is folded into the base when it is longer than a tenth of the base. So a single write stays cheap and a
    search stays fast.
    """

    def __init__(self) -> None:
        self._terms: GrowArray[np.uint32] = GrowArray(np.uint32)
        self._rows: GrowArray[np.int32] = GrowArray(np.int32)
        self._folded = 0
        self._vocabulary = np.empty(0, dtype=np.uint32)
        self._starts = np.zeros(1, dtype=np.int64)
        self._base_rows = np.empty(0, dtype=np.int32)
        self._base_counts = np.empty(0, dtype=np.float32)

    def append(self, terms: NDArray[np.uint32], rows: Rows) -> None:
        """Add occurrences: ``terms[i]`` is in ``rows[i]``. Row numbers never decrease from one call to the next."""
        self._terms.append(terms)
        self._rows.append(rows)

    def fold_tail(self) -> None:
        """Fold the tail into the base if it has become long. Call this after one or many calls of :meth:`append`."""
        tail = len(self._terms) - self._folded
        if tail > max(_TAIL_AT_LEAST, _TAIL_SHARE * self._folded):
            self._fold()

    def rows_with(self, term: np.uint32) -> tuple[Rows, Counts]:
        """Return the rows that contain a term, ascending, and how often each row contains it."""
        rows, counts = self._base(term)
        tail_terms = self._terms.view[self._folded :]
        hits = self._rows.view[self._folded :][tail_terms == term]
        if not len(hits):
            return rows, counts
        new_rows, new_counts = np.unique(hits, return_counts=True)
        return np.concatenate([rows, new_rows]), np.concatenate([counts, new_counts.astype(np.float32)])

    def _base(self, term: np.uint32) -> tuple[Rows, Counts]:
        at = int(np.searchsorted(self._vocabulary, term))
        if at == len(self._vocabulary) or self._vocabulary[at] != term:
            return self._base_rows[:0], self._base_counts[:0]
        part = slice(self._starts[at], self._starts[at + 1])
        return self._base_rows[part], self._base_counts[part]

    def _fold(self) -> None:
        # Each (term, row) pair is one 64-bit key, so that a single sort groups both.
        keys = self._terms.view.astype(np.uint64) << np.uint64(32) | self._rows.view.astype(np.uint64)
        pairs, counts = np.unique(keys, return_counts=True)
        terms = (pairs >> np.uint64(32)).astype(np.uint32)
        self._base_rows = (pairs & np.uint64(0xFFFFFFFF)).astype(np.int32)
        self._base_counts = counts.astype(np.float32)
        starts = np.flatnonzero(
            np.append(True, terms[1:] != terms[:-1])
        )  # equal terms are adjacent, because the pairs are sorted
        self._vocabulary = terms[starts]
        self._starts = np.append(starts, len(terms)).astype(np.int64)
        self._folded = len(self._terms)
