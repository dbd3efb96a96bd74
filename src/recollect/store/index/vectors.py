"""Vectors in memory: exact search by one product, a graph (HNSW) past a threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow import GrowArray

Rows = NDArray[np.int32]
Scores = NDArray[np.float32]


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

    def nearest(self, vectors: NDArray[np.float32], k: int, floor: float = -1.0) -> list[tuple[Rows, Scores]]:
        """For each of ``(q, dimension)`` query vectors the ``k`` nearest rows, best first, with their cosines.

        Rows below the ``floor`` may be left out: with one that few reach, most of the sorting is saved.
        """
        if self.approximate:
            return self._graph_filled().search(vectors, k)
        found = []
        for scores in vectors @ self.matrix.T:
            rows = np.flatnonzero(scores >= floor)
            best = rows[top(scores[rows], k)]
            found.append((best.astype(np.int32), scores[best]))
        return found

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

    def search(self, vectors: NDArray[np.float32], k: int) -> list[tuple[Rows, Scores]]:
        found = []
        for vector in vectors:
            matches = self._index.search(vector, k)
            found.append((matches.keys.astype(np.int32), (1.0 - matches.distances).astype(np.float32)))
        return found

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


def top(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Positions of the ``k`` highest scores, best first; equal scores keep their order."""
    if k < len(scores):
        part = np.argpartition(-scores, k)[:k]
        part.sort()
    else:
        part = np.arange(len(scores))
    return part[np.argsort(-scores[part], kind="stable")]
