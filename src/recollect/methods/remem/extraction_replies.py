"""The replies of the indexing model (REMem, figures 3 and 4), and the checks that every reply has to pass.

Message numbers count from 1, as in the prompts. The code that knows the prompt checks that a message with that number
was shown. The errors raised here are shown to the model, which may then try again.
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
"""A start and an end. ``None`` is open. A point in time is both the start and the end."""

MOST_GISTS: Final = 150
MOST_FACTS: Final = 200
"""The limits for one reply. For comparison, table 22 has 91 gists and 96 triples for 2,000 tokens of conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedGist:
    """One event or claim that is complete by itself.

    Start and end are ISO dates. Messages are the numbers of its sources.
    """

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
    """The gists of a stretch of conversation, in its order. There may be none."""

    gists: tuple[ExtractedGist, ...]

    def __post_init__(self) -> None:
        if len(self.gists) > MOST_GISTS:
            raise ValueError(f"{len(self.gists)} gists are too many; give at most {MOST_GISTS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTriple:
    """A triple of phrases with its times as ISO dates: either a point in time, or a start, an end, or both."""

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
        """Return the start and the end of the fact. A point in time is both.

        Dates without a zone are read in the given zone.

        Raises:
            ValueError: a text is not a date, the fact ends before it starts, or there is a start or an end next to a
                point in time.
        """
        point, start, end = (_parse_date(text, zone) for text in (self.point_in_time, self.start_time, self.end_time))
        if point is None:
            return _order_times(start, end)
        if start is not None or end is not None:
            raise ValueError("give point_in_time alone, or start_time and end_time")
        return point, point


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTriples:
    """The facts of a stretch of conversation. There may be none."""

    __pydantic_config__: ClassVar = {"title": "ExtractedFacts"}  # its name in requests to a model, recorded ones too

    facts: tuple[ExtractedTriple, ...]

    def __post_init__(self) -> None:
        if len(self.facts) > MOST_FACTS:
            raise ValueError(f"{len(self.facts)} facts are too many; give at most {MOST_FACTS}")


def read_fact_times(fact: ExtractedTriple, zone: tzinfo | None) -> Times:
    """Return the times of a fact. Its dates have been read in UTC without an error before.

    If only one of two dates names an offset, they may be in order in UTC and not in the zone. Then they are read in
    UTC.
    """
    try:
        return fact.parse_times(zone)
    except ValueError:
        return fact.parse_times(UTC)


def _order_times(start: Interval | None, end: Interval | None) -> Times:
    """Return a start and an end.

    Raises:
        ValueError: the end is before the start.
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
