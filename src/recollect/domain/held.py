"""When something holds, and how that stands to a time (REMem, section 3.2 and figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from recollect.domain.items import Item
from recollect.domain.time import Interval, Precision, at_instant, to_micros
from recollect.domain.triples import Comparison, TimeFilter

OPEN: Final = 2**62
"""The microsecond at which an open end lies; an open start lies at its negative."""

Edge = tuple[int, int]
"""A time as exactly as it is known: from a microsecond of the calendar to before another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """When something began and ended, each as exactly as it is known.

    Microseconds are those of the calendar since 1970, without a zone: the year 1980 is the same one wherever it was
    spoken of.
    """

    start: Edge
    end: Edge


def held(item: Item) -> Held:
    """When an item holds: of a triple its own times, else all the times it speaks of, else when it was said."""
    triple = item.triple
    if triple is not None and (triple.start or triple.end):
        return Held(start=_edge(triple.start, -OPEN), end=_edge(triple.end, OPEN))
    return spanned([one.interval for one in item.occurrences] or [at_instant(item.mentioned)])


def spanned(times: Sequence[Interval]) -> Held:
    """The stretch that holds all of these times; what is only known to lie in a year begins and ends in that year."""
    return Held(start=min(map(_start, times)), end=max(map(_end, times), key=lambda edge: (edge[1], edge[0])))


def meets(when: Held, wanted: TimeFilter) -> bool:
    """Whether start and end stand to the wanted times as they shall.

    Times are compared as exactly as the less exact one is known: what overlaps is ``eq``. An open start lies before
    all times, an open end after them.
    """
    return _stands(when.start, wanted.start_operator, wanted.start) and _stands(
        when.end, wanted.end_operator, wanted.end
    )


def edge_of(time: Interval) -> Edge:
    """What a filter's time is compared with."""
    return _edge(time, OPEN)


def _stands(edge: Edge, operator: Comparison, time: Interval | None) -> bool:
    if time is None:
        return True
    other = edge_of(time)
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


def _edge(time: Interval | None, where_open: int) -> Edge:
    if time is None:
        return where_open, where_open
    first, last = -OPEN if time.start is None else _wall(time.start), OPEN if time.end is None else _wall(time.end)
    return first, max(last, first + 1)  # an hour that clocks were put back over, or a moment of no length


def _start(time: Interval) -> Edge:
    """Where a time begins: of a range at its first moment, of anything else somewhere in it."""
    if time.start is None:
        return -OPEN, -OPEN
    first, last = _edge(time, OPEN)
    return (first, first + 1) if time.precision is Precision.RANGE else (first, last)


def _end(time: Interval) -> Edge:
    if time.end is None:
        return OPEN, OPEN
    first, last = _edge(time, OPEN)
    return (last - 1, last) if time.precision is Precision.RANGE else (first, last)


def _wall(moment: datetime) -> int:
    return to_micros(moment.replace(tzinfo=UTC))
