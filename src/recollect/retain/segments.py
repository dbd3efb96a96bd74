"""Segments as text: what a window over the raw log says (E-mem, section 3.2).

A segment is a pair of places in the log and holds no words of its own: its text is written down from the messages each
time it is read. A message's line, ``[Mon 2023-05-08 13:56] Ada: words``, is what its tokens are counted on, by itself,
so that the windows do not depend on how messages are split over calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect._tokenizer import has_separable_words
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment
from recollect.errors import InvalidInput
from recollect.retain.turns import render_message
from recollect.store.capabilities import SegmentReader
from recollect.text.offsets import find_token_offset
from recollect.text.time_expressions.words import ENGLISH_WEEKDAYS
from recollect.text.tokens import PIECE_CHARACTERS, count_all

CONTINUATION_MARK = "... "
"""Stands where words were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSettings:
    """How the stream is cut: windows of ``length`` tokens, each sharing ``overlap`` of them with the next.

    The defaults are the paper's window of 8K tokens, and an eighth of it. Without ``summaries`` nothing but the places
    where the windows begin and end is kept: then they are found by what was said in them alone.

    Raises:
        InvalidInput: a window has no token, or shares all of them with the next.
    """

    length: int = 8192
    overlap: int = 1024
    summaries: bool = True

    def __post_init__(self) -> None:
        if self.length < 1 or not 0 <= self.overlap < self.length:
            raise InvalidInput("a segment's length is 1 token at least, and its overlap from 0 to less than that")

    @property
    def stride(self) -> int:
        """How many tokens lie between the beginnings of two windows."""
        return self.length - self.overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentText:
    """A segment as it is read: the messages of which it holds some, what of each it holds, and their tokens.

    ``lines`` are as many as ``messages``; one of several lines has the further ones indented. A message that the
    segment begins in the midst of has its head repeated, which is not counted.
    """

    number: int
    messages: tuple[StoredMessage, ...] = ()
    lines: tuple[str, ...] = ()
    sealed: bool = False
    tokens: int = 0

    @property
    def text(self) -> str:
        """All that it holds."""
        return "".join(self.lines)


async def read_segment(reader: SegmentReader, number: int, *, as_of: datetime | None = None) -> SegmentText:
    """Return the text of one segment, as :func:`read_segments` reads it."""
    (text,) = await read_segments(reader, [number], as_of=as_of)
    return text


async def read_segments(
    reader: SegmentReader, numbers: Sequence[int], *, as_of: datetime | None = None
) -> list[SegmentText]:
    """Return the texts of segments in the given order. Each contains the messages of the segment that still exist.

    The text is empty if no message exists, or if there is no such segment. ``as_of`` keeps only messages that were
    recorded by then; a sealed segment whose end was recorded later does not count as sealed. The text of a sealed
    segment changes only if some of it is forgotten. The text of an open segment only grows.
    """
    messages = await reader.segment_messages(numbers)
    segments = {segment.number: segment for segment in await reader.segments(numbers)}
    texts = []
    for number in numbers:
        known = tuple(m for m in messages.get(number, ()) if as_of is None or m.recorded <= as_of)
        found = known and number in segments
        texts.append(build_segment_text(segments[number], known) if found else SegmentText(number=number))
    return texts


def build_segment_text(segment: Segment, messages: Sequence[StoredMessage]) -> SegmentText:
    """What a segment says, from those of its messages that there are, in order."""
    counts = count_line_tokens(messages)
    held = (_count_held_tokens(segment, message, count) for message, count in zip(messages, counts, strict=True))
    return SegmentText(
        number=segment.number,
        messages=tuple(messages),
        lines=tuple(_cut_line(segment, message) for message in messages),
        sealed=segment.is_sealed and any(message.id == segment.last for message in messages),
        tokens=sum(held),
    )


def render_line(message: StoredMessage) -> str:
    """A message in the stream: when it was said, in its own zone, who said it, its words; later lines are indented."""
    return _join_line(render_head(message), render_message(message))


def count_line_tokens(messages: Sequence[StoredMessage]) -> list[int]:
    """How many tokens each message's line has, in order.

    Most lines are heads and words that can be counted apart: the words were counted a moment ago, when they were
    embedded, and nothing is put together. Other lines are counted as they stand.
    """
    parts = [(render_head(message), render_message(message)) for message in messages]
    apart = [_can_be_counted_apart(*part) for part in parts]
    texts = [words if one else _join_line(head, words) for (head, words), one in zip(parts, apart, strict=True)]
    heads = [head[:-1] if one else "" for (head, _), one in zip(parts, apart, strict=True)]
    ends = map(int, apart)  # one token, which stands in the text where that is the whole line
    return [sum(counts) for counts in zip(count_all(texts), count_all(heads), ends, strict=True)]


def _can_be_counted_apart(head: str, words: str) -> bool:
    """Whether a line's tokens are those of its head, those of its words and its end."""
    short = len(head) + len(words) < PIECE_CHARACTERS  # what is longer is counted in pieces, wherever they may part it
    return short and has_separable_words(words) and has_separable_words(head[:-1]) and words.splitlines() == [words]


def cut_words(segment: Segment, message: StoredMessage) -> str:
    """What a segment holds of a message's line, without its head."""
    start, end = _find_span(segment, message)
    return render_line(message)[max(start, len(render_head(message))) : end].strip()


def render_head(message: StoredMessage) -> str:
    """What a message's line begins with: when it was said and who said it."""
    stamp = message.at.isoformat(sep=" ", timespec="minutes")[:16]
    return f"[{ENGLISH_WEEKDAYS[message.at.weekday()][:3]} {stamp}] {' '.join(message.speaker.split())}: "


def _join_line(head: str, words: str) -> str:
    indented = "\n    ".join(words.splitlines())
    return f"{head}{indented}\n"


def _cut_line(segment: Segment, message: StoredMessage) -> str:
    """A message's line in a segment: from where the segment begins, under its head, and to where it ends."""
    head, line = render_head(message), render_line(message)
    start, end = _find_span(segment, message)
    return line[:end] if start <= len(head) else f"{head}{CONTINUATION_MARK}{line[start:end].lstrip(' ')}"


def _find_span(segment: Segment, message: StoredMessage) -> tuple[int, int]:
    """From and to which character of its line a message is in a segment."""
    line = render_line(message)
    start = find_token_offset(line, segment.start) if message.id == segment.first and segment.start else 0
    cut = message.id == segment.last and segment.end is not None
    return start, find_token_offset(line, segment.end or 0) if cut else len(line)


def _count_held_tokens(segment: Segment, message: StoredMessage, count: int) -> int:
    """How many of a message's tokens are in a segment."""
    start = segment.start if message.id == segment.first else 0
    end = segment.end if message.id == segment.last and segment.end is not None else count
    return end - start
