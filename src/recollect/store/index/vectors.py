"""Vectors in memory: exact search by one product, a graph (HNSW) past a threshold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow import GrowArray

Rows = NDArray[np.int32]
Scores = NDArray[np.float32]

# A new item is compared with so many of the newest: what a write costs must not grow with the bank.
NEWEST = 10_000


class VectorTable:
    """Unit vectors by row. ``threshold`` is the number of rows from which the graph answers unmasked searches."""

    def __init__(self, dimension: int, threshold: int) -> None:
        self._matrix: GrowArray[np.float32] = GrowArray(np.float32, (dimension,))
        self._threshold = threshold
        self._graph = None if threshold < 0 else _Graph(dimension)

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._matrix.view

    @property
    def approximate(self) -> bool:
        """Whether there are so many rows that unmasked searches go through the graph."""
        return self._graph is not None and len(self) >= self._threshold

    def append(self, vectors: NDArray[np.float32]) -> None:
        self._matrix.append(vectors)
        if self.approximate:
            self._graph_filled()

    def nearest(
        self, vectors: NDArray[np.float32], k: int, floor: float, alive: NDArray[np.bool_]
    ) -> list[tuple[Rows, Scores]]:
        """The nearest rows of each of ``(q, dimension)`` vectors among the newest live ones, best first, and cosines.

        At most ``k`` each, none below the ``floor``.
        """
        first = max(0, len(self) - NEWEST)
        cosines = vectors @ self.matrix[first:].T
        cosines[:, ~alive[first:]] = -np.inf
        # Few reach the floor: looking for those at once is ten times as fast as sorting each query's rows.
        queries, rows = np.nonzero(cosines >= floor)
        ends = np.searchsorted(queries, np.arange(len(vectors) + 1))
        found = []
        for query, (start, end) in enumerate(pairwise(ends.tolist())):
            near = rows[start:end]
            best = near[top(cosines[query, near], k)]
            found.append(((best + first).astype(np.int32), cosines[query, best]))
        return found

    def approximate_nearest(self, vector: NDArray[np.float32], k: int) -> Rows:
        """About the ``k`` nearest rows, dead ones among them, by the graph."""
        return self._graph_filled().search(vector, k)

    def save(self, path: Path) -> None:
        if self.approximate:
            self._graph_filled().save(path)

    def load(self, path: Path, rows: int) -> bool:
        """Take the graph of the first ``rows`` rows from a file; gives whether it fitted."""
        return self._graph is not None and self._graph.load(path, rows)

    def _graph_filled(self) -> _Graph:
        assert self._graph is not None
        self._graph.fill(self.matrix)
        return self._graph


class _Graph:
    """HNSW over rows (usearch), filled on need."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._index = self._new()
        self._filled = 0

    def _new(self) -> Any:
        from usearch.index import Index  # 60 ms that only large banks should pay

        return Index(ndim=self._dimension, metric="ip", dtype="f16", connectivity=16, expansion_add=64)

    def fill(self, matrix: NDArray[np.float32]) -> None:
        if self._filled < len(matrix):
            keys = np.arange(self._filled, len(matrix), dtype=np.uint64)
            self._index.add(keys, matrix[self._filled :])
            self._filled = len(matrix)

    def search(self, vector: NDArray[np.float32], k: int) -> Rows:
        rows: Rows = self._index.search(vector, k).keys.astype(np.int32)
        return rows

    def save(self, path: Path) -> None:
        self._index.save(str(path))

    def load(self, path: Path, rows: int) -> bool:
        try:
            self._index.load(str(path))
        except Exception:  # a damaged file is no loss: the graph is derived, and built anew
            self._index = self._new()
            return False
        if len(self._index) != rows:
            self._index = self._new()
            return False
        self._filled = rows
        return True


def cosines_with(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> Scores:
    """The cosine of every row of a matrix with a vector: float32 of shape ``(rows,)``.

    Not ``matrix @ vector``: a product with one vector is bound by memory, and BLAS wakes a thread for each core and
    waits for them, which costs a busy machine many times what it saves.
    """
    cosines: Scores = np.einsum("ij,j->i", matrix, vector)
    return cosines


def top(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Positions of the ``k`` highest scores, best first; equal scores keep their order."""
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
