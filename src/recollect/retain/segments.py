"""Write segments as text: the words of a window over the raw log (E-mem, section 3.2).

A segment is stored as a pair of places in the log, without any words. Its text is written from the messages each time
it is read. Tokens are counted on each message's line separately: ``[Mon 2023-05-08 13:56] Ada: words``. So the windows
do not depend on how messages are split over calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""The text in place of words that were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSettings:
    """The settings of the windows over the stream: ``length`` tokens each, of which the next window shares ``overlap``.

    The defaults are the paper's window of 8K tokens, and an eighth of it. Without ``summaries``, only the edges of the
    windows are stored. Segments are then found only by the words in them.

    Raises:
        InvalidInput: a window has no token, or shares all its tokens with the next.
    """

    length: int = 8192
    overlap: int = 1024
    summaries: bool = True

    def __post_init__(self) -> None:
        if self.length < 1 or not 0 <= self.overlap < self.length:
            raise InvalidInput(
                "a segment's length must be at least 1 token, its overlap at least 0 and less than its length"
            )

    @property
    def stride(self) -> int:
        """Return the number of tokens between the beginnings of two windows."""
        return self.length - self.overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentText:
    """A segment as it is read: its messages, the part of each message that is in it, and their tokens.

    ``lines`` has one entry for each of ``messages``. If an entry has several lines, the further ones are indented. If
    the segment begins inside a message, the head of the message is repeated. The repeated head is not counted.
    """

    number: int
    messages: tuple[StoredMessage, ...] = ()
    lines: tuple[str, ...] = ()
    sealed: bool = False
    tokens: int = 0

    @property
    def text(self) -> str:
        """Return the whole text."""
        return "".join(self.lines)


async def read_segment(reader: SegmentReader, number: int, *, as_of: datetime | None = None) -> SegmentText:
    """Return a segment's text, from its messages that are left.

    It is empty if no message is left, or if there is no such segment. With ``as_of``, only messages that were recorded
    by then count. If some of a sealed segment's messages were recorded later, the text ends before them and is not
    sealed. The text of a sealed segment never changes, unless a part of it is forgotten. The text of an open one only
    grows.
    """
    (text,) = await read_segments(reader, [number], as_of=as_of)
    return text


async def read_segments(
    reader: SegmentReader,
    numbers: Sequence[int],
    *,
    as_of: datetime | None = None,
    known: Mapping[int, Segment] | None = None,
) -> list[SegmentText]:
    """Return the texts of segments in the given order. Each contains the messages of the segment that still exist.

    The text is empty if no message exists, or if there is no such segment. ``as_of`` keeps only messages that were
    recorded by then; a sealed segment whose end was recorded later does not count as sealed. The text of a sealed
    segment changes only if some of it is forgotten. The text of an open segment only grows. ``known`` are segments that
    were already read, by their numbers.
    """
    messages = await reader.segment_messages(numbers)
    segments = dict(known or {})
    missing = [number for number in numbers if number not in segments]
    segments |= {segment.number: segment for segment in await reader.segments(missing)} if missing else {}
    texts = []
    for number in numbers:
        own = tuple(m for m in messages.get(number, ()) if as_of is None or m.recorded <= as_of)
        found = own and number in segments
        texts.append(build_segment_text(segments[number], own) if found else SegmentText(number=number))
    return texts


def build_segment_text(segment: Segment, messages: Sequence[StoredMessage]) -> SegmentText:
    """Return a segment's text from its remaining messages, in order."""
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
    """Return a message's line in the stream: its time in its own zone, its speaker, its words.

    Later lines are indented.
    """
    return _join_line(render_head(message), render_message(message))


def count_line_tokens(messages: Sequence[StoredMessage]) -> list[int]:
    """Return the number of tokens of each message's line, in order.

    In most lines, the head and the words can be counted separately. The words were counted a moment ago, when they were
    embedded, so this is fast. Other lines are counted whole.
    """
    parts = [(render_head(message), render_message(message)) for message in messages]
    apart = [_can_be_counted_apart(*part) for part in parts]
    texts = [words if one else _join_line(head, words) for (head, words), one in zip(parts, apart, strict=True)]
    heads = [head[:-1] if one else "" for (head, _), one in zip(parts, apart, strict=True)]
    ends = map(int, apart)  # the end is one token, which is already in the text if that is the whole line
    return [sum(counts) for counts in zip(count_all(texts), count_all(heads), ends, strict=True)]


def _can_be_counted_apart(head: str, words: str) -> bool:
    """Return true if a line has exactly the tokens of its head, of its words and of its end."""
    short = len(head) + len(words) < PIECE_CHARACTERS  # longer lines are counted in pieces, which may end anywhere
    return short and has_separable_words(words) and has_separable_words(head[:-1]) and words.splitlines() == [words]


def cut_words(segment: Segment, message: StoredMessage) -> str:
    """Return the part of a message's line that is in a segment, without the head of the line."""
    start, end = _find_span(segment, message)
    return render_line(message)[max(start, len(render_head(message))) : end].strip()


def render_head(message: StoredMessage) -> str:
    """Return the head of a message's line: the time and the speaker."""
    stamp = message.at.isoformat(sep=" ", timespec="minutes")[:16]
    return f"[{ENGLISH_WEEKDAYS[message.at.weekday()][:3]} {stamp}] {' '.join(message.speaker.split())}: "


def _join_line(head: str, words: str) -> str:
    indented = "\n    ".join(words.splitlines())
    return f"{head}{indented}\n"


def _cut_line(segment: Segment, message: StoredMessage) -> str:
    """Return the part of a message's line that is in a segment, under its head."""
    head, line = render_head(message), render_line(message)
    start, end = _find_span(segment, message)
    return line[:end] if start <= len(head) else f"{head}{CONTINUATION_MARK}{line[start:end].lstrip(' ')}"


def _find_span(segment: Segment, message: StoredMessage) -> tuple[int, int]:
    """Return the first and the end character of a message's line in a segment."""
    line = render_line(message)
    start = find_token_offset(line, segment.start) if message.id == segment.first and segment.start else 0
    cut = message.id == segment.last and segment.end is not None
    return start, find_token_offset(line, segment.end or 0) if cut else len(line)


def _count_held_tokens(segment: Segment, message: StoredMessage, count: int) -> int:
    """Return the number of a message's tokens that are in a segment."""
    start = segment.start if message.id == segment.first else 0
    end = segment.end if message.id == segment.last and segment.end is not None else count
    return end - start
