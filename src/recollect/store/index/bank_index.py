"""A bank in memory: what a search reads."""

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

# Up to here an exact scan is as fast as the graph, finds all of it, and costs a write nothing.
GRAPH_FROM_ROWS = 250_000


class BankIndex:
    """Rows, vectors and postings of a bank's items. Not safe for threads: its owner holds a lock.

    Args:
        dimension: of the vectors.
        graph_from: rows from which unmasked vector searches go through a graph; -1 for never.
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
        """Make room for so many more vectors at once: growing in steps would copy them several times."""
        self.vectors.reserve(rows)

    def append(self, batch: RowBatch) -> None:
        """Add items; an item whose number is known takes the older row's place."""
        self.extend((batch,))

    def extend(self, batches: Iterable[RowBatch]) -> None:
        """Add items batch by batch, and derive what depends on all of them once, at the end.

        It works in short steps and pauses between them, so that it can run beside an event loop.
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
        """Whether so many rows are dead that building anew would pay."""
        return is_wasteful(len(self.table) - int(self.table.alive.view.sum()), len(self.table))

    def save_graph(self, path: Path) -> NDArray[np.int64]:
        """Write the graph to a file; gives the numbers of the items that its points stand for, -1 for dead ones."""
        rows = self.vectors.save(path)
        numbers: NDArray[np.int64] = np.where((rows >= 0) & self.table.alive.view[rows], self.table.seq.view[rows], -1)
        return numbers

    def load_graph(self, path: Path, points: NDArray[np.int64], items: NDArray[np.int64]) -> bool:
        """Take a graph from a file, before the first items come; gives whether it is of use.

        ``points`` are what :meth:`save_graph` gave, ``items`` the numbers, ascending, of the items that will come
        first: those that have not been rewritten since.
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
        """See :meth:`VectorTable.nearest`: only rows of items that hold are found."""
        return self.vectors.nearest(vectors, k, floor, self.table.current.view)


def is_wasteful(dead: int, rows: int) -> bool:
    """Whether so many of the rows are dead that building anew would pay."""
    return dead > 1000 and dead > rows // 4
