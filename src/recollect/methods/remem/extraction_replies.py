"""What the indexing model may answer (REMem, figures 3 and 4), and what no answer may break.

Numbers of messages count from 1, as in the prompts; whether a message of that number was shown is checked where the
prompt is known. What is raised here is shown to the model, which may try again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import ClassVar, Final

from recollect.answering.reading import quote_briefly
from recollect.domain.time import Interval
from recollect.text.time_expressions.iso import parse_iso_date, parse_iso_span

Times = tuple[Interval | None, Interval | None]
"""Start and end; ``None`` is open, and a point in time stands in both."""

MOST_GISTS: Final = 150
MOST_FACTS: Final = 200
"""In a reply: table 22 has 91 gists and 96 triples for 2,000 tokens of talk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedGist:
    """One event or claim, by itself; start and end are ISO dates, messages the numbers of its sources."""

    text: str
    start: str | None = None
    end: str | None = None
    messages: tuple[int, ...]

    def __post_init__(self) -> None:
        if not any(map(str.isalnum, self.text)):
            raise ValueError("a gist is empty: it does not say what happened")
        _require_sources(self.messages, f"the gist {quote_briefly(self.text)}")
        try:
            parse_iso_span(self.start, self.end, UTC)
        except ValueError as exc:
            raise ValueError(f"the gist {quote_briefly(self.text)}: {exc}") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedGists:
    """The gists of a stretch of conversation, in its order; none where nothing is told."""

    gists: tuple[ExtractedGist, ...]

    def __post_init__(self) -> None:
        if len(self.gists) > MOST_GISTS:
            raise ValueError(f"{len(self.gists)} gists are too many; give at most {MOST_GISTS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTriple:
    """A triple of phrases with its qualifiers: ISO dates, either a point in time, or a start, an end, or both."""

    __pydantic_config__: ClassVar = {"title": "ExtractedFact"}  # its name in requests to a model, recorded ones too

    subject: str
    predicate: str
    object: str
    point_in_time: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    messages: tuple[int, ...]

    def __post_init__(self) -> None:
        told = quote_briefly(f"{self.subject} | {self.predicate} | {self.object}")
        for name in ("subject", "predicate", "object"):
            if not any(map(str.isalnum, getattr(self, name))):
                raise ValueError(f"the fact {told} has no {name}")
        _require_sources(self.messages, f"the fact {told}")
        try:
            self.parse_times(UTC)
        except ValueError as exc:
            raise ValueError(f"the fact {told}: {exc}") from exc

    def parse_times(self, zone: tzinfo | None) -> Times:
        """When it holds: start and end, of the zone where they name none; a point in time is both.

        Raises:
            ValueError: one is no date, it ends before it starts, or a point in time does not stand alone.
        """
        point, start, end = (_parse_date(text, zone) for text in (self.point_in_time, self.start_time, self.end_time))
        if point is None:
            return _order_times(start, end)
        if start is not None or end is not None:
            raise ValueError("give point_in_time alone, or start_time and end_time")
        return point, point


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTriples:
    """The facts of a stretch of conversation; none where nothing is told."""

    __pydantic_config__: ClassVar = {"title": "ExtractedFacts"}  # its name in requests to a model, recorded ones too

    facts: tuple[ExtractedTriple, ...]

    def __post_init__(self) -> None:
        if len(self.facts) > MOST_FACTS:
            raise ValueError(f"{len(self.facts)} facts are too many; give at most {MOST_FACTS}")


def read_fact_times(fact: ExtractedTriple, zone: tzinfo | None) -> Times:
    """The times of a fact whose dates can be read in UTC.

    Where one of them alone names an offset, they may be in order there and not in the zone; then they are read in UTC.
    """
    try:
        return fact.parse_times(zone)
    except ValueError:
        return fact.parse_times(UTC)


def _order_times(start: Interval | None, end: Interval | None) -> Times:
    """Return a start and an end.

    Raises:
        ValueError: it ends before it starts.
    """
    first = None if start is None else start.start
    last = None if end is None else end.end
    if first is not None and last is not None and last <= first:
        raise ValueError("it ends before it starts")
    return start, end


def _parse_date(text: str | None, zone: tzinfo | None) -> Interval | None:
    return parse_iso_date(text, zone) if text and text.strip() else None


def _require_sources(numbers: Sequence[int], what: str) -> None:
    if not numbers:
        raise ValueError(f"{what} names no message that it comes from")
    if min(numbers) < 1:
        raise ValueError(f"{what} names message {min(numbers)}; they are numbered from 1")
