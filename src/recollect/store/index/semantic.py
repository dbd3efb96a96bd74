"""Compute the cosines of items and of their surroundings from one vector for each item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow_array import GrowArray
from recollect.store.index.row_table import Rows, RowTable

Floats = NDArray[np.float32]

NEIGHBOUR_REACH = 2
_BLOCK = 4096


class Surroundings:
    """The lengths of the passage vectors of rows. A passage is a row with its neighbours.

    The vector of a passage is the sum of its items' vectors, each weighted by its number of words. It is never stored.
    Its cosine follows from the items' own cosines and from this length. So a neighbour that comes later changes a
    number and no vector.
    """

    def __init__(self) -> None:
        self._norm: GrowArray[np.float32] = GrowArray(np.float32)
        self._grid: tuple[NDArray[np.intp], Floats] | None = None

    def update(self, table: RowTable, matrix: Floats, touched: Rows) -> None:
        """Measure again the rows whose neighbours changed, and the rows in whose passages they are."""
        self._norm.append(np.ones(len(table) - len(self._norm), dtype=np.float32))
        self._grid = None
        seen = np.zeros(len(table) + 1, dtype=np.bool_)  # -1 points at the extra place at the end
        seen[table.neighbours_of(touched, NEIGHBOUR_REACH)] = True
        rows = np.flatnonzero(seen[:-1]).astype(np.int32)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            self._norm.view[block] = np.maximum(_measure_lengths(table, matrix, block), 1e-6)

    def cosines(self, table: RowTable, rows: Rows, matrix: Floats, vector: Floats) -> tuple[Floats, Floats]:
        """Return the cosines of rows and of their surroundings with a query vector.

        Both are float32 of shape ``(len(rows),)``.
        """
        grid = table.neighbours_of(rows, NEIGHBOUR_REACH)
        seen, where = np.unique(grid, return_inverse=True)
        own = matrix[np.maximum(seen, 0)] @ vector
        spread = own[where.reshape(grid.shape)]
        near = (spread * _weigh_rows(table, grid)).sum(axis=1) / self._norm.view[rows]
        return spread[:, NEIGHBOUR_REACH], near.astype(np.float32)

    def all_cosines(self, table: RowTable, own: Floats) -> Floats:
        """Return the cosines of every row's surroundings, from every row's own cosine: float32 of shape ``(rows,)``."""
        if self._grid is None:
            self._grid = _build_columns(table)
        (first, *others), mass = self._grid
        weighted = np.zeros(len(mass) + 1, dtype=np.float32)  # the extra 0 at the end is for missing neighbours
        np.multiply(own, mass, out=weighted[:-1])
        # All places exist, so that nothing is clipped. numpy is faster in this mode, because it does not check them.
        total, some = weighted.take(first, mode="clip"), np.empty_like(own)
        for column in others:
            total += weighted.take(column, out=some, mode="clip")
        cosines: Floats = np.divide(total, self._norm.view, out=total)
        return cosines


def _build_columns(table: RowTable) -> tuple[NDArray[np.intp], Floats]:
    """Return each row with its neighbours, one column for each position, and the weight of each row.

    The number of rows stands for a missing neighbour.
    """
    grid = table.neighbours_of(np.arange(len(table), dtype=np.int32), NEIGHBOUR_REACH).T.astype(np.intp, order="C")
    grid[grid < 0] = len(table)
    return grid, (table.length.view + 1).astype(np.float32)


def _measure_lengths(table: RowTable, matrix: Floats, rows: Rows) -> Floats:
    """Return the lengths of the summed vectors of rows and their neighbours: float32 of shape ``(len(rows),)``."""
    grid = table.neighbours_of(rows, NEIGHBOUR_REACH)
    mass = _weigh_rows(table, grid)
    total = np.zeros((len(rows), matrix.shape[1]), dtype=np.float32)
    for column in range(grid.shape[1]):
        total += _take_rows(matrix, grid[:, column]) * mass[:, column, None]
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", total, total))
    return lengths


def _take_rows(matrix: Floats, at: Rows) -> Floats:
    """Return ``matrix[at]``, with any value where ``at`` is -1.

    The result is a view if all rows are next to each other, which is so for most neighbours.
    """
    first = int(at[0]) if at[0] >= 0 else int(at[-1]) - len(at) + 1
    run = np.arange(first, first + len(at))
    if first >= 0 and first + len(at) <= len(matrix) and ((at == run) | (at < 0)).all():
        return matrix[first : first + len(at)]
    return matrix[np.maximum(at, 0)]


def _weigh_rows(table: RowTable, grid: NDArray[np.int32]) -> Floats:
    """Return the weight of each row of a grid: its number of words plus one, or 0 for a missing row."""
    return np.where(grid >= 0, table.length.view[grid] + 1, 0).astype(np.float32)
