"""Write the facts of a timeline as facts for a bank, and as sentences."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import recollect
from benchmarks.timeline.facts import Calendar, Fact
from recollect import Interval
from recollect.text.time_expressions.iso import parse_iso_date

TOLD_AT: Final = datetime(2024, 1, 1, 9, tzinfo=UTC)
"""The time at which the first fact is mentioned. It is after all facts, so that no fact is mentioned before it is
true.
"""


def sentence(fact: Fact, calendar: Calendar) -> str:
    """Return a sentence such as "E92 was the R17 of E69 from 1980 to 1984."

    The time is "in 1980" if it is one unit, and "since 1980" if the fact is still true.
    """
    said = f"{fact.subject} was the {fact.relation} of {fact.object}"
    start = calendar.spoken(fact.start)
    if fact.end is None:
        return f"{said} since {start}."
    return f"{said} in {start}." if fact.end == fact.start else f"{said} from {start} to {calendar.spoken(fact.end)}."


def statements(facts: Iterable[Fact], calendar: Calendar) -> list[recollect.Fact]:
    """Return the facts for a bank. They are mentioned one second apart."""
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
