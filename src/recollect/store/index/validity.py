"""Compute for all rows of an index at once what :mod:`recollect.domain.validity` computes for one item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.domain.time import Interval
from recollect.domain.triples import Comparison, TimeFilter
from recollect.domain.validity import OPEN_EDGES, filter_edge

Micros = NDArray[np.int64]

BEGIN, FINISH = 0, 3
"""The columns in which the first moment of the start and the last one of the end stand."""


def validity_at(moments: Micros) -> Micros:
    """What is held for a moment of the calendar: int64 ``(n, 4)``, the edges of the start and those of the end."""
    return np.stack([moments, moments + 1, moments, moments + 1], axis=1)


def span_edges(rows: Micros, firsts: Micros, lasts: Micros, ranged: NDArray[np.bool_]) -> tuple[Micros, Micros]:
    """The stretches that hold all times of their rows (:func:`recollect.domain.validity.span_validity`).

    Takes a row, a first and a last moment of the calendar, and whether it is a range, for each time; all of shape
    ``(m,)``. Gives the rows, each once, and int64 ``(k, 4)`` for them.
    """
    lasts = np.maximum(lasts, firsts + 1)
    begun = np.where(firsts == -OPEN_EDGES, -OPEN_EDGES, np.where(ranged, firsts + 1, lasts))
    ended = np.where(lasts == OPEN_EDGES, OPEN_EDGES, np.where(ranged, lasts - 1, firsts))
    start, end = np.lexsort((begun, firsts, rows)), np.lexsort((-ended, -lasts, rows))
    there, at = np.unique(rows[start], return_index=True)
    start, end = start[at], end[at]  # both begin a row's times at the same place: they are as many in either order
    return there, np.stack([firsts[start], begun[start], ended[end], lasts[end]], axis=1)


def triple_validity(edges: Micros) -> Micros:
    """What triples hold: int64 ``(n, 4)``; where a start or an end is not known, both its edges are open."""
    held = edges.copy()
    for first, last in ((0, 1), (2, 3)):
        timed = np.abs(edges[:, first]) != OPEN_EDGES
        held[timed, last] = np.maximum(edges[timed, last], edges[timed, first] + 1)
    return held


def match_filter(validity: Micros, wanted: TimeFilter) -> NDArray[np.bool_]:
    """Which rows stand to a time as they shall (:func:`recollect.domain.validity.matches_filter`): bool of shape
    ``(n,)``.
    """
    mask = np.ones(len(validity), dtype=np.bool_)
    if wanted.start is not None:
        mask &= _compare_edges(validity[:, :2], wanted.start_operator, wanted.start)
    if wanted.end is not None:
        mask &= _compare_edges(validity[:, 2:], wanted.end_operator, wanted.end)
    return mask


def _compare_edges(edges: Micros, operator: Comparison, time: Interval) -> NDArray[np.bool_]:
    first, last = filter_edge(time)
    before, after = edges[:, 1] <= first, edges[:, 0] >= last
    match operator:
        case Comparison.LT:
            return before
        case Comparison.LE:
            return ~after
        case Comparison.EQ:
            return ~before & ~after
        case Comparison.GE:
            return ~before
        case Comparison.GT:
            return after
