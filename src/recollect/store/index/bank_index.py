"""A bank in memory: the data that a search reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow_array import GrowArray
from recollect.store.index.lexical import LexicalLengths
from recollect.store.index.pause import Pauses
from recollect.store.index.postings import Postings
from recollect.store.index.row_batch import RowBatch
from recollect.store.index.row_table import Rows, RowTable
from recollect.store.index.semantic import Surroundings
from recollect.store.index.vectors import VectorTable

# Up to this size an exact scan is as fast as the graph, finds every item, and adds no cost to a write.
GRAPH_FROM_ROWS = 250_000


class BankIndex:
    """The rows, vectors and postings of a bank's items. It is not safe for threads: its owner holds a lock.

    Args:
        dimension: the length of the vectors.
        graph_from: the number of rows from which unmasked vector searches go through a graph. -1 means never.
    """

    def __init__(self, dimension: int, graph_from: int = GRAPH_FROM_ROWS) -> None:
        self.table = RowTable()
        self.vectors = VectorTable(dimension, graph_from)
        self.postings = Postings()
        self.surroundings = Surroundings()
        self.span_rows: GrowArray[np.int32] = GrowArray(np.int32)
        self.spans: GrowArray[np.int64] = GrowArray(np.int64, (2,))
        self._lengths: LexicalLengths | None = None

    def __len__(self) -> int:
        return len(self.table)

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` more vectors at once. Growing in steps would copy the vectors several times."""
        self.vectors.reserve(rows)

    def append(self, batch: RowBatch) -> None:
        """Add items. An item whose number is known replaces the older row."""
        self.extend((batch,))

    def extend(self, batches: Iterable[RowBatch]) -> None:
        """Add items batch by batch. At the end, derive once the data that depends on all of them.

        It works in short steps and pauses between them, so that it can run next to an event loop.
        """
        first, replaced = len(self.table), set[tuple[int, int]]()
        pauses = Pauses()
        for batch in batches:
            replaced |= self._add(batch)
            pauses.take()
        if len(self.table) == first:
            return
        self.postings.fold_tail()
        touched = self.table.link(first, replaced)
        self.surroundings.update(self.table, self.vectors.matrix, touched)
        self.vectors.grow_graph()
        self._lengths = None

    def _add(self, batch: RowBatch) -> set[tuple[int, int]]:
        first = len(self.table)
        replaced = self.table.append(batch)
        rows = np.arange(first, first + len(batch.seqs), dtype=np.int32)
        self.vectors.append(batch.vectors)
        self.postings.append(batch.terms, np.repeat(rows, batch.lengths))
        self.span_rows.append((batch.spans[:, 0] + first).astype(np.int32))
        self.spans.append(batch.spans[:, 1:])
        return replaced

    @property
    def lengths(self) -> LexicalLengths:
        if self._lengths is None:
            self._lengths = LexicalLengths(self.table)
        return self._lengths

    @property
    def is_wasteful(self) -> bool:
        """Return true if so many rows are dead that building the index again would pay."""
        return is_wasteful(len(self.table) - int(self.table.alive.view.sum()), len(self.table))

    def save_graph(self, path: Path) -> NDArray[np.int64]:
        """Write the graph to a file. Return the numbers of the items that its points represent, -1 for dead ones."""
        rows = self.vectors.save(path)
        numbers: NDArray[np.int64] = np.where((rows >= 0) & self.table.alive.view[rows], self.table.seq.view[rows], -1)
        return numbers

    def load_graph(self, path: Path, points: NDArray[np.int64], items: NDArray[np.int64]) -> bool:
        """Read a graph from a file before the first items are added. Return true if the graph is usable.

        ``points`` are the numbers that :meth:`save_graph` returned. ``items`` are the numbers, ascending, of the items
        that will be added first: those that have not been rewritten since.
        """
        places = np.searchsorted(items, points)
        there = np.append(items, -1)[places] == points
        rows = np.where(there & (points >= 0), places, -1).astype(np.int32)
        live = int((rows >= 0).sum())
        fits = live == len(items) and not is_wasteful(len(points) - live, len(points))
        return fits and self.vectors.load(path, rows)

    def find_nearest(
        self, vectors: NDArray[np.float32], k: int, floor: float
    ) -> list[tuple[Rows, NDArray[np.float32]]]:
        """Return the nearest rows of valid items. See :meth:`VectorTable.nearest`."""
        return self.vectors.nearest(vectors, k, floor, self.table.current.view)


def is_wasteful(dead: int, rows: int) -> bool:
    """Return true if so many of the rows are dead that building the index again would pay."""
    return dead > 1000 and dead > rows // 4
