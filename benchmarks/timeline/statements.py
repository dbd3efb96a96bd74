"""Facts as sentences, a message each, in no order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from benchmarks.timeline.facts import Calendar, Fact
from recollect import Message

SPEAKER: Final = "Chronicle"
TOLD_AT: Final = datetime(2024, 1, 1, 9, tzinfo=UTC)
"""After all that is told, so that nothing is told before it was."""


def sentence(fact: Fact, calendar: Calendar) -> str:
    """As in "E92 was the R17 of E69 from 1980 to 1984."; "in 1980" for one unit, "since 1980" for what still is."""
    said = f"{fact.subject} was the {fact.relation} of {fact.object}"
    start = calendar.spoken(fact.start)
    if fact.end is None:
        return f"{said} since {start}."
    return f"{said} in {start}." if fact.end == fact.start else f"{said} from {start} to {calendar.spoken(fact.end)}."


def messages(facts: Iterable[Fact], calendar: Calendar) -> list[Message]:
    """The sentences as they are told, one a second."""
    return [
        Message(speaker=SPEAKER, text=sentence(fact, calendar), at=TOLD_AT + timedelta(seconds=number))
        for number, fact in enumerate(facts)
    ]
