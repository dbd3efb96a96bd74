"""When something holds, and how that stands to a time (REMem, section 3.2 and figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from recollect.domain.items import Item
from recollect.domain.time import Interval, Precision, instant_interval, to_micros
from recollect.domain.triples import Comparison, TimeFilter

OPEN_EDGES: Final = 2**62
"""The microsecond at which an open end lies; an open start lies at its negative."""

Edge = tuple[int, int]
"""A time as exactly as it is known: from a microsecond of the calendar to before another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """When something began and ended, each as exactly as it is known.

    Microseconds are those of the calendar since 1970, without a zone: the year 1980 is the same one wherever it was
    spoken of.
    """

    start: Edge
    end: Edge


def validity_of(item: Item) -> Validity:
    """When an item holds: of a triple its own times, else all the times it speaks of, else when it was said."""
    triple = item.triple
    if triple is not None and (triple.start or triple.end):
        return Validity(start=_edge_or_open(triple.start, -OPEN_EDGES), end=_edge_or_open(triple.end, OPEN_EDGES))
    return span_validity([one.interval for one in item.occurrences] or [instant_interval(item.mentioned)])


def span_validity(times: Sequence[Interval]) -> Validity:
    """The stretch that holds all of these times; what is only known to lie in a year begins and ends in that year."""
    return Validity(
        start=min(map(_start_edge, times)), end=max(map(_end_edge, times), key=lambda edge: (edge[1], edge[0]))
    )


def matches_filter(when: Validity, wanted: TimeFilter) -> bool:
    """Whether start and end stand to the wanted times as they shall.

    Times are compared as exactly as the less exact one is known: what overlaps is ``eq``. An open start lies before
    all times, an open end after them.
    """
    return _compares(when.start, wanted.start_operator, wanted.start) and _compares(
        when.end, wanted.end_operator, wanted.end
    )


def filter_edge(time: Interval) -> Edge:
    """What a filter's time is compared with."""
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
    return first, max(last, first + 1)  # an hour that clocks were put back over, or a moment of no length


def _start_edge(time: Interval) -> Edge:
    """Where a time begins: of a range at its first moment, of anything else somewhere in it."""
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
