"""Vectors in memory: exact search by one product, or search through a graph (HNSW) from a number of rows on."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow_array import GrowArray

Rows = NDArray[np.int32]
Scores = NDArray[np.float32]

# A new item is compared only with so many of the newest, because the cost of a write must not grow with the bank.
NEWEST = 10_000
GRAPH_LIBRARY = "usearch"
_BLOCK_COSINES = 500_000  # two megabytes


def is_graph_library_installed() -> bool:
    """Return true if the extra ``hnsw`` is installed. The library itself is not imported."""
    return importlib.util.find_spec(GRAPH_LIBRARY) is not None


def note_missing_graph(rows: int) -> str:
    """Return the note for a bank that is searched exactly although it is large enough for a graph."""
    return (
        f"the bank has {rows:,} items, and each question is compared with all of them. A search through a graph is "
        "faster from this size on: pip install 'recollect[hnsw]'"
    )


class VectorTable:
    """Unit vectors by row. From ``threshold`` rows on, the graph answers unmasked searches.

    The graph needs the extra ``hnsw``. Without it every search is exact, whatever the number of rows.
    """

    def __init__(self, dimension: int, threshold: int) -> None:
        self._matrix: GrowArray[np.float32] = GrowArray(np.float32, (dimension,))
        self._threshold = threshold
        wanted = threshold >= 0 and dimension > 0
        self._graph = _Graph(dimension) if wanted and is_graph_library_installed() else None
        self._lacks_graph = wanted and self._graph is None

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._matrix.view

    @property
    def approximate(self) -> bool:
        """Return true if there are so many rows that unmasked searches go through the graph."""
        return self._graph is not None and len(self) >= self._threshold

    @property
    def note(self) -> str:
        """Return the note for receipts if a graph should answer and its library is missing, else an empty text."""
        return note_missing_graph(len(self)) if self._lacks_graph and len(self) >= self._threshold else ""

    def append(self, vectors: NDArray[np.float32]) -> None:
        self._matrix.append(vectors)

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` more rows."""
        self._matrix.reserve(rows)

    def grow_graph(self) -> None:
        """Add the appended rows to the graph, if there is one."""
        if self.approximate:
            self._graph_filled()

    def nearest(
        self, vectors: NDArray[np.float32], k: int, floor: float, alive: NDArray[np.bool_]
    ) -> list[tuple[Rows, Scores]]:
        """Return the nearest of the newest live rows for each of ``(q, dimension)`` vectors, best first, and cosines.

        Each vector gets at most ``k`` rows, and none below ``floor``.
        """
        if not self.matrix.shape[1]:
            return [(np.empty(0, np.int32), np.empty(0, np.float32)) for _ in vectors]
        queries, rows, cosines = _find_reaching(vectors, self.matrix, alive, max(0, len(self) - NEWEST), floor)
        ends = np.searchsorted(queries, np.arange(len(vectors) + 1)).tolist()
        found = []
        for start, end in pairwise(ends):
            # Most queries find nothing: their slices are empty, and there is nothing to sort.
            best = slice(start, end) if end - start < 2 else start + select_top(cosines[start:end], k)
            found.append((rows[best][:k], cosines[best][:k]))
        return found

    def approximate_nearest(self, vector: NDArray[np.float32], k: int) -> Rows:
        """Return approximately the ``k`` nearest rows from the graph. Dead rows may be among them."""
        return self._graph_filled().search(vector, k)

    def save(self, path: Path) -> Rows:
        """Write the graph to a file. Return the rows that its points represent, or -1 for points without a row."""
        return self._graph_filled().save(path)

    def load(self, path: Path, rows: Rows) -> bool:
        """Read a graph from a file while there are no rows yet. Return true if it fitted.

        ``rows`` are the rows that its points represent. They are all of the first rows that will be added, each once,
        and -1 for points of items that no longer exist.
        """
        return self._graph is not None and self._graph.load(path, rows)

    def _graph_filled(self) -> _Graph:
        assert self._graph is not None
        self._graph.fill(self.matrix)
        return self._graph


class _Graph:
    """An HNSW graph over rows (usearch), filled when it is needed.

    A point keeps its number. ``_rows`` are the rows that the points represent.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._made: Any = None
        self._rows: GrowArray[np.int32] = GrowArray(np.int32)
        self._filled = 0

    @property
    def _index(self) -> Any:
        if self._made is None:
            self._made = self._new()
        return self._made

    def _new(self) -> Any:
        from usearch.index import Index  # takes 60 ms, which only large banks should pay

        return Index(ndim=self._dimension, metric="ip", dtype="f16", connectivity=16, expansion_add=64)

    def fill(self, matrix: NDArray[np.float32]) -> None:
        if self._filled < len(matrix):
            rows = np.arange(self._filled, len(matrix), dtype=np.int32)
            self._index.add(np.arange(len(rows), dtype=np.uint64) + len(self._rows), matrix[self._filled :])
            self._rows.append(rows)
            self._filled = len(matrix)

    def search(self, vector: NDArray[np.float32], k: int) -> Rows:
        rows: Rows = self._rows.view[self._index.search(vector, k).keys.astype(np.int64)]
        return rows[rows >= 0]

    def save(self, path: Path) -> Rows:
        self._index.save(str(path))
        return self._rows.view

    def load(self, path: Path, rows: Rows) -> bool:
        try:
            self._index.load(str(path))
        except Exception:  # a damaged file is no loss: the graph is derived and is built again
            self._made = None
            return False
        if len(self._index) != len(rows):
            self._made = None
            return False
        self._rows.append(rows)
        self._filled = int((rows >= 0).sum())
        return True


def _find_reaching(
    vectors: Scores, matrix: Scores, alive: NDArray[np.bool_], first: int, floor: float
) -> tuple[NDArray[np.int64], Rows, Scores]:
    """Return the pairs of queries and live rows with a cosine of at least the floor, and their cosines.

    The queries are ascending, and only rows from ``first`` on are compared. Few pairs reach the floor. Selecting them
    first is ten times as fast as sorting each query's rows. The cosines of one block stay in the processor's cache. The
    cosines of all rows would go to memory and come back.
    """
    queries, rows, cosines = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    step = max(1, _BLOCK_COSINES // max(1, len(vectors)))
    for start in range(first, len(matrix), step):
        block = vectors @ matrix[start : start + step].T
        block[:, ~alive[start : start + step]] = -np.inf
        query, row = np.divmod(np.flatnonzero(block >= floor), block.shape[1])
        queries.append(query)
        rows.append((row + start).astype(np.int32))
        cosines.append(block[query, row])
    by_query = np.argsort(np.concatenate(queries), kind="stable")
    joined = np.concatenate(rows)[by_query], np.concatenate(cosines)[by_query]
    return np.concatenate(queries)[by_query], *joined


def compute_cosines(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> Scores:
    """Return the cosine of every row of a matrix with a vector: float32 of shape ``(rows,)``.

    This is not ``matrix @ vector``. A product with one vector is limited by memory. BLAS wakes a thread for each core
    and waits for them, which costs a busy machine many times what it saves.
    """
    cosines: Scores = np.einsum("ij,j->i", matrix, vector)
    return cosines


def select_top(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Return the positions of the ``k`` highest scores, best first. Equal scores keep their order."""
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > least)
        part = np.concatenate([above, np.flatnonzero(scores == least)[: k - len(above)]])
        part.sort()
    else:
        part = np.arange(len(scores))
    return part[np.argsort(-scores[part], kind="stable")]
