"""The validity of the rows of an index as columns: :mod:`recollect.domain.validity` for all items at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.domain.time import Interval
from recollect.domain.triples import Comparison, TimeFilter
from recollect.domain.validity import OPEN_EDGES, filter_edge

Micros = NDArray[np.int64]

BEGIN, FINISH = 0, 3
"""The columns of the first moment of the start and of the last moment of the end."""


def validity_at(moments: Micros) -> Micros:
    """Return the validity of moments on the calendar: int64 ``(n, 4)``, the edges of the start and of the end."""
    return np.stack([moments, moments + 1, moments, moments + 1], axis=1)


def span_edges(rows: Micros, firsts: Micros, lasts: Micros, ranged: NDArray[np.bool_]) -> tuple[Micros, Micros]:
    """Return, for each row, the stretch of time that contains all its times
    (:func:`recollect.domain.validity.span_validity`).

    The arguments have shape ``(m,)``. For each time, they are its row, its first and its last moment on the calendar,
    and whether it is a range. The result is the rows, each once, and int64 ``(k, 4)`` for them.
    """
    lasts = np.maximum(lasts, firsts + 1)
    begun = np.where(firsts == -OPEN_EDGES, -OPEN_EDGES, np.where(ranged, firsts + 1, lasts))
    ended = np.where(lasts == OPEN_EDGES, OPEN_EDGES, np.where(ranged, lasts - 1, firsts))
    start, end = np.lexsort((begun, firsts, rows)), np.lexsort((-ended, -lasts, rows))
    there, at = np.unique(rows[start], return_index=True)
    start, end = start[at], end[at]  # a row's times begin at the same position in both orders
    return there, np.stack([firsts[start], begun[start], ended[end], lasts[end]], axis=1)


def triple_validity(edges: Micros) -> Micros:
    """Return the validity of triples: int64 ``(n, 4)``. If a start or an end is not known, both its edges are open."""
    held = edges.copy()
    for first, last in ((0, 1), (2, 3)):
        timed = np.abs(edges[:, first]) != OPEN_EDGES
        held[timed, last] = np.maximum(edges[timed, last], edges[timed, first] + 1)
    return held


def match_filter(validity: Micros, wanted: TimeFilter) -> NDArray[np.bool_]:
    """Return which rows have the wanted relation to a time: bool of shape ``(n,)``.

    See :func:`recollect.domain.validity.matches_filter`.
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
