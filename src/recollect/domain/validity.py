"""The times in which items are valid, and how they compare with other times (REMem, section 3.2 and figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from recollect.domain.items import Item
from recollect.domain.time import Interval, Precision, instant_interval, to_micros
from recollect.domain.triples import Comparison, TimeFilter

OPEN_EDGES: Final = 2**62
"""The microsecond of an open end. An open start has its negative."""

Edge = tuple[int, int]
"""A time as precise as it is known: from a microsecond up to, not including, another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """A start and an end, each as precise as it is known.

    Microseconds are counted from 1970 in the local calendar, without a zone. So the year 1980 is the same in every
    zone.
    """

    start: Edge
    end: Edge


def validity_of(item: Item) -> Validity:
    """Return the time in which an item is valid.

    For a triple, it is the triple's own start and end, if it has any. Otherwise it spans all times that the item speaks
    of. If the item speaks of no time, it is the moment when the item was said.
    """
    triple = item.triple
    if triple is not None and (triple.start or triple.end):
        return Validity(start=_edge_or_open(triple.start, -OPEN_EDGES), end=_edge_or_open(triple.end, OPEN_EDGES))
    return span_validity([one.interval for one in item.occurrences] or [instant_interval(item.mentioned)])


def span_validity(times: Sequence[Interval]) -> Validity:
    """Return the span of all these times. A time that is only known as a year gives an edge somewhere in that year."""
    return Validity(
        start=min(map(_start_edge, times)), end=max(map(_end_edge, times), key=lambda edge: (edge[1], edge[0]))
    )


def matches_filter(when: Validity, wanted: TimeFilter) -> bool:
    """Return true if a start and an end compare with the wanted times as the filter demands.

    Times are compared with the lower of the two precisions: times that overlap are ``eq``. An open start is before all
    times, and an open end is after all times.
    """
    return _compares(when.start, wanted.start_operator, wanted.start) and _compares(
        when.end, wanted.end_operator, wanted.end
    )


def filter_edge(time: Interval) -> Edge:
    """Return the edge that a time of a filter is compared as."""
    return _edge_or_open(time, OPEN_EDGES)


def _compares(edge: Edge, operator: Comparison, time: Interval | None) -> bool:
    if time is None:
        return True
    other = filter_edge(time)
    before, after = edge[1] <= other[0], edge[0] >= other[1]
    match operator:
        case Comparison.LT:
            return before
        case Comparison.LE:
            return not after
        case Comparison.EQ:
            return not before and not after
        case Comparison.GE:
            return not before
        case Comparison.GT:
            return after


def _edge_or_open(time: Interval | None, where_open: int) -> Edge:
    if time is None:
        return where_open, where_open
    first, last = (
        -OPEN_EDGES if time.start is None else _wall_micros(time.start),
        OPEN_EDGES if time.end is None else _wall_micros(time.end),
    )
    return first, max(last, first + 1)  # the interval has no length, or the clocks were put back in it


def _start_edge(time: Interval) -> Edge:
    """Return the edge where a time begins. A range begins at its first moment, any other time somewhere in itself."""
    if time.start is None:
        return -OPEN_EDGES, -OPEN_EDGES
    first, last = _edge_or_open(time, OPEN_EDGES)
    return (first, first + 1) if time.precision is Precision.RANGE else (first, last)


def _end_edge(time: Interval) -> Edge:
    if time.end is None:
        return OPEN_EDGES, OPEN_EDGES
    first, last = _edge_or_open(time, OPEN_EDGES)
    return (last - 1, last) if time.precision is Precision.RANGE else (first, last)


def _wall_micros(moment: datetime) -> int:
    return to_micros(moment.replace(tzinfo=UTC))
