"""Facts of a timeline as a bank is given them, and as sentences, in no order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import recollect
from benchmarks.timeline.facts import Calendar, Fact
from recollect import Interval
from recollect.text.time_expressions.iso import parse_iso_date

TOLD_AT: Final = datetime(2024, 1, 1, 9, tzinfo=UTC)
"""After all that is told, so that nothing is told before it was."""


def sentence(fact: Fact, calendar: Calendar) -> str:
    """Return a sentence such as "E92 was the R17 of E69 from 1980 to 1984."; "in 1980" for one unit, "since 1980" for
    what still is.
    """
    said = f"{fact.subject} was the {fact.relation} of {fact.object}"
    start = calendar.spoken(fact.start)
    if fact.end is None:
        return f"{said} since {start}."
    return f"{said} in {start}." if fact.end == fact.start else f"{said} from {start} to {calendar.spoken(fact.end)}."


def statements(facts: Iterable[Fact], calendar: Calendar) -> list[recollect.Fact]:
    """Return the facts as they are given to a bank, as told one a second."""
    return [
        recollect.Fact(
            id=str(number),
            subject=fact.subject,
            predicate=f"was the {fact.relation} of",
            object=fact.object,
            occurred=_occurred(fact, calendar),
            mentioned=TOLD_AT + timedelta(seconds=number),
        )
        for number, fact in enumerate(facts)
    ]


def _occurred(fact: Fact, calendar: Calendar) -> Interval:
    first = parse_iso_date(calendar.written(fact.start), UTC)
    last = None if fact.end is None else parse_iso_date(calendar.written(fact.end), UTC)
    return Interval(start=first.start, end=None if last is None else last.end, precision=first.precision)
