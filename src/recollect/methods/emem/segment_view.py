"""Read segments: which message stands where in their text, and which part a question may see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from recollect.domain.items import Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Scope
from recollect.domain.segments import Segment
from recollect.domain.time import Interval, instant_interval
from recollect.retain.segments import SegmentText, read_segments
from recollect.store.capabilities import SegmentReader
from recollect.store.protocol import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpan:
    """A message and its characters in the text of a segment: from ``start`` up to, not including, ``end``."""

    message: StoredMessage
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentView:
    """The part of a segment that a question may see, message by message. ``stable`` is true if all questions see the
    same.
    """

    number: int
    text: str
    passages: tuple[MessageSpan, ...]
    stable: bool = False

    @property
    def id(self) -> str:
        return make_segment_id(self.number)

    def find_passages(self, start: int, end: int) -> tuple[MessageSpan, ...]:
        """Return the messages that contain some of these characters."""
        return tuple(one for one in self.passages if one.start < end and one.end > start)

    def restrict_to(self, messages: Collection[str]) -> SegmentView:
        """Return the same reading with the lines of some messages alone."""
        kept = [one for one in self.passages if one.message.id in messages]
        return make_view(self.number, [(one.message, self.text[one.start : one.end]) for one in kept])


def make_segment_id(number: int) -> str:
    """Return the id of a segment in evidence and citations."""
    return f"segment:{number}"


async def read_segment_views(
    reader: SegmentReader, numbers: Sequence[int], scope: Scope, known: Mapping[int, Segment] | None = None
) -> list[SegmentView]:
    """Read segments within a scope, in the given order. A text is empty if the scope allows nothing of its segment.

    A text has what was recorded by ``as_of``, without excluded messages and without other sessions and speakers than
    the requested ones. ``during`` keeps the messages whose turns were said in that time or speak of it. Without any of
    these restrictions, the text of a sealed segment is always the same. ``known`` are segments that were already read,
    by their numbers.
    """
    found = await read_segments(reader, numbers, as_of=scope.as_of, known=known)
    seen = [message for one in found for message in one.messages if _is_visible(message, scope)]
    if scope.during is not None:
        seen = await _filter_by_time(seen, scope.during, scope.as_of, reader)
    kept = {message.id for message in seen}
    return [_restrict_view(one, kept) for one in found]


def _restrict_view(segment: SegmentText, kept: Collection[str]) -> SegmentView:
    """Return a segment with the lines of some messages alone."""
    lines = [(message, line) for message, line in split_lines(segment) if message.id in kept]
    return replace(make_view(segment.number, lines), stable=segment.sealed and len(lines) == len(segment.messages))


def split_lines(segment: SegmentText) -> list[tuple[StoredMessage, str]]:
    """Return the messages of a segment, each with its part of the text."""
    return list(zip(segment.messages, segment.lines, strict=True))


def make_view(number: int, lines: Iterable[tuple[StoredMessage, str]]) -> SegmentView:
    """Return a segment made of these lines, each with its message."""
    passages: list[MessageSpan] = []
    text, at = [], 0
    for message, line in lines:
        passages.append(MessageSpan(message=message, start=at, end=at + len(line)))
        text.append(line)
        at += len(line)
    return SegmentView(number=number, text="".join(text), passages=tuple(passages))


def _is_visible(message: StoredMessage, scope: Scope) -> bool:
    """Return true if a scope allows a message."""
    return (
        message.id not in scope.exclude
        and (not scope.sessions or message.session in scope.sessions)
        and (not scope.speakers or message.speaker in scope.speakers)
    )


async def _filter_by_time(
    messages: Sequence[StoredMessage], during: Interval, as_of: datetime | None, reader: StoreReader
) -> list[StoredMessage]:
    """Return the messages of turns that were said in a time or speak of it, by the same rule as a recall of single
    items.
    """
    turns = await reader.items_from([message.id for message in messages], [ItemKind.TURN])
    then = turns if as_of is None else [turn.as_of(as_of) for turn in turns]
    timely = {id_ for turn in then if _is_within_time(turn, during) for id_ in turn.sources}
    return [message for message in messages if message.id in timely]


def _is_within_time(turn: Item, during: Interval) -> bool:
    """Return true if a turn was said in a time, or speaks of it (Hindsight, equation 13)."""
    times = (instant_interval(turn.mentioned), *(one.interval for one in turn.occurrences))
    return any(time.overlaps(during) for time in times)
