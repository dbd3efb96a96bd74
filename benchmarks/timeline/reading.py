"""Read the type and the slots of a question from its words alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal

from benchmarks.timeline.facts import MONTHS


class Wanted(Enum):
    """The eight types of questions, by the thing that has to be found."""

    NEIGHBOUR = auto()
    AT_TIME = auto()
    TIME = auto()
    PLACED = auto()
    AT_EVENT = auto()
    NUMBER = auto()
    LASTED = auto()
    IN_ORDER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A predicate, and its subject or object as far as they are known. ``None`` is in the place that is asked for."""

    predicate: str
    subject: str | None = None
    object: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question's type and slots.

    ``other`` is the entity whose neighbour is asked for. ``event`` is another event at the same time. ``times`` are ISO
    dates with the precision of the question. ``edge`` is the start or the end that is asked for, or that of the event.
    ``place`` counts from 1 and is ``None`` for the last. ``inclusive`` is true if facts that only touch the bounds
    count. ``each_once`` is true if an entity counts once.
    """

    wanted: Wanted
    pattern: Pattern
    other: str | None = None
    event: Pattern | None = None
    times: tuple[str, ...] = ()
    edge: Literal["start", "end"] = "start"
    side: Literal["before", "after"] = "before"
    place: int | None = 1
    inclusive: bool = True
    each_once: bool = True
    latest_first: bool = False


class Unreadable(ValueError):
    """The words of a question do not fit any known type."""


def read(question: str) -> Request:
    """Read a question.

    Raises:
        Unreadable: the question names no relation, or has no known type.
    """
    event = _EVENT.search(question)
    rest = question if event is None else question[: event.start()] + question[event.end() :]
    wanted = _wanted(rest, event is not None)
    pattern = _pattern(rest, whole=wanted in (Wanted.TIME, Wanted.LASTED))
    return Request(
        wanted=wanted,
        pattern=pattern,
        other=next((name for name in _ENTITY.findall(rest) if name not in (pattern.subject, pattern.object)), None),
        event=None if event is None else _of(event),
        times=_times(rest),
        edge="end" if _ENDING.search(question) else "start",
        side="after" if re.search(r"\bafter\b", rest) else "before",
        place=_place(rest),
        inclusive="does not count" not in rest,
        each_once=not re.search(r"\btimes\b", rest),
        latest_first="latest" in rest,
    )


_ENTITY: Final = re.compile(r"\bE\d+\b")
_EVENT: Final = re.compile(
    r"(?P<subject>E\d+) (?:started being|became|stopped being|ceased to be) the (?P<relation>R\d+) of (?P<object>E\d+)"
)
_ENDING: Final = re.compile(r"\b(?:stop|stopped|cease|ceased|ended)\b(?! in)")
_WHOLE: Final = re.compile(r"(?P<subject>E\d+) .*?the (?P<relation>R\d+) of (?P<object>E\d+)")
_OF_SUBJECT: Final = (
    re.compile(r"(?P<subject>E\d+) was the (?P<relation>R\d+) of(?! E\d)"),
    re.compile(r"was (?P<subject>E\d+) the (?P<relation>R\d+)"),
)
_OF_OBJECT: Final = re.compile(r"the (?P<relation>R\d+) of (?P<object>E\d+)")
_TIME: Final = re.compile(rf"(?:({'|'.join(MONTHS)}) )?\b(\d{{4}})\b")
_PLACE: Final = re.compile(r"\b(?:(first|1st)|(second|2nd)|(third|3rd)|(last))\b")
_CUES: Final = (
    (r"how many (?:year|month)s", Wanted.LASTED),
    (r"number of|how many|count the", Wanted.NUMBER),
    (r"list every|timeline", Wanted.IN_ORDER),
    (r"immediately|right (?:before|after)|directly", Wanted.NEIGHBOUR),
    (r"when did|in which (?:year|month) did|the (?:year|month) in which the time", Wanted.TIME),
    (_PLACE.pattern, Wanted.PLACED),
    (_TIME.pattern, Wanted.AT_TIME),
)


def _wanted(text: str, event: bool) -> Wanted:
    for cue, wanted in (*_CUES[:-2], (r"", Wanted.AT_EVENT)) if event else _CUES:
        if re.search(cue, text, re.IGNORECASE):
            return wanted
    raise Unreadable(text)


def _pattern(text: str, *, whole: bool) -> Pattern:
    tried = (_WHOLE,) if whole else (*_OF_SUBJECT, _OF_OBJECT)
    for one in tried:
        found = one.search(text)
        if found is not None:
            return _of(found)
    raise Unreadable(text)


def _of(found: re.Match[str]) -> Pattern:
    ends = found.groupdict()
    return Pattern(predicate=f"was the {ends['relation']} of", subject=ends.get("subject"), object=ends.get("object"))


def _times(text: str) -> tuple[str, ...]:
    found = []
    for time in _TIME.finditer(text):
        month, year = time.groups()
        iso = year if month is None else f"{year}-{MONTHS.index(month) + 1:02}"
        if iso not in found:
            found.append(iso)
    return tuple(found)


def _place(text: str) -> int | None:
    found = _PLACE.search(text)
    if found is None:
        return 1
    return None if found.group(4) else found.lastindex
