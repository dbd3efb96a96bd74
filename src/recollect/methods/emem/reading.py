"""Segments as they are read: which message stands where in their text, and what of it a question may see."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Scope
from recollect.retain.segments import SegmentText, read_segment
from recollect.store.protocol import StoreReader

_ENTRY: Final = re.compile(r"(?<=\n)(?=\[)")  # a message's line begins with its time; further lines of it are indented


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A message and the characters of a segment's text that are its: from ``start`` to before ``end``."""

    message: StoredMessage
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a question may see of a segment, message by message."""

    number: int
    text: str
    passages: tuple[Passage, ...]

    @property
    def id(self) -> str:
        return segment_id(self.number)

    def passages_at(self, start: int, end: int) -> tuple[Passage, ...]:
        """The messages that have some of these characters."""
        return tuple(one for one in self.passages if one.start < end and one.end > start)

    def only(self, messages: Collection[str]) -> Reading:
        """The same with the lines of some messages alone."""
        kept = [one for one in self.passages if one.message.id in messages]
        return reading_of(self.number, [(one.message, self.text[one.start : one.end]) for one in kept])


def segment_id(number: int) -> str:
    """What a segment is called in evidence and citations."""
    return f"segment:{number}"


async def read(reader: StoreReader, number: int, scope: Scope) -> Reading:
    """Read a segment as a scope lets it be read; its text is empty where nothing of it may be seen.

    It holds what was recorded by ``as_of``, without messages that are excluded or are not of the sessions and speakers
    that are asked for. Where none of these narrows the scope, the text of a sealed segment is the same at every time.
    """
    found = await read_segment(reader, number, as_of=scope.as_of)
    return reading_of(number, (pair for pair in lines_of(found) if _is_open(pair[0], scope)))


def lines_of(segment: SegmentText) -> list[tuple[StoredMessage, str]]:
    """The messages of a segment, each with what of its text is the message's."""
    lines = [line for line in _ENTRY.split(segment.text) if line]
    return list(zip(segment.messages, lines, strict=True))


def reading_of(number: int, lines: Iterable[tuple[StoredMessage, str]]) -> Reading:
    """A segment of these lines, each with the message that it is of."""
    passages: list[Passage] = []
    text, at = [], 0
    for message, line in lines:
        passages.append(Passage(message=message, start=at, end=at + len(line)))
        text.append(line)
        at += len(line)
    return Reading(number=number, text="".join(text), passages=tuple(passages))


def _is_open(message: StoredMessage, scope: Scope) -> bool:
    """Whether a scope lets a message be seen."""
    return (
        message.id not in scope.exclude
        and (not scope.sessions or message.session in scope.sessions)
        and (not scope.speakers or message.speaker in scope.speakers)
    )
