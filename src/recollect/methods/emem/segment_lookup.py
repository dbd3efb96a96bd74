"""Find the segments that contain a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.answering.evidence import join_lines
from recollect.domain.items import Item
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment
from recollect.retain.segments import cut_words
from recollect.store.capabilities import SegmentReader
from recollect.text.terms import extract_terms

Terms = NDArray[np.uint32]

_SAMPLE_CHARACTERS: Final = 60  # characters
_STEP: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class _CutMessage:
    """A message that no segment contains whole: for each segment, its words there, and how many of them the question
    has.
    """

    words: Mapping[int, str]
    asked: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPlaces:
    """The segments that contain some turns: for each turn their numbers, and by its number each segment.

    ``segments`` includes segments that do not contain a turn whole.
    """

    places: tuple[tuple[int, ...], ...]
    segments: Mapping[int, Segment]


async def find_segments(
    turns: Sequence[Item], asked: Terms, reader: SegmentReader, *, more: Iterable[int] = ()
) -> SegmentPlaces:
    """Return the segments that contain each turn, whole if possible. A turn may be in no segment yet.

    A turn is where its first message is. A message in the overlap is in two segments. A message at an edge is cut by
    one segment and whole in the other, unless it is longer than the overlap. Then its words and the ``asked`` terms
    decide. ``more`` are numbers of further segments to load with them.
    """
    leads = [turn.sources[0] for turn in turns]
    numbers = await reader.segments_of(dict.fromkeys(leads))
    wanted = {*more, *(number for found in numbers.values() for number in found)}
    segments = {segment.number: segment for segment in await reader.segments(wanted)} if wanted else {}
    whole = {lead: _keep_whole(lead, found, segments) for lead, found in numbers.items()}
    cut = [lead for lead, found in whole.items() if not found]
    messages = {message.id: message for message in await reader.messages(cut)} if cut else {}
    parts = {
        lead: await run_in_thread(
            _read_cut_message, message, [segments[n] for n in numbers[lead] if n in segments], asked
        )
        for lead, message in messages.items()
    }
    places = (
        _rank_by_words(turn, parts[lead]) if lead in parts else whole.get(lead, ())
        for turn, lead in zip(turns, leads, strict=True)
    )
    return SegmentPlaces(places=tuple(places), segments=segments)


def _keep_whole(lead: str, numbers: tuple[int, ...], segments: Mapping[int, Segment]) -> tuple[int, ...]:
    """Return the segments that do not cut a message, or the only segment if there is just one."""
    if len(numbers) < 2:
        return numbers
    return tuple(number for number in numbers if number in segments and not _is_cut_by(segments[number], lead))


def _is_cut_by(segment: Segment, message: str) -> bool:
    """Return true if a message continues over an edge of a segment."""
    return (message == segment.first and segment.start > 0) or (message == segment.last and segment.end is not None)


def _read_cut_message(message: StoredMessage, segments: Sequence[Segment], asked: Terms) -> _CutMessage:
    """Return what each segment contains of a message. It is read once for all passages, because the message may be very
    long.
    """
    words = {segment.number: join_lines(cut_words(segment, message)) for segment in segments}
    return _CutMessage(
        words=words, asked={n: len(np.intersect1d(extract_terms(one), asked)) for n, one in words.items()}
    )


def _rank_by_words(turn: Item, cut: _CutMessage) -> tuple[int, ...]:
    """Return the segments that contain most of the asked terms, among those that contain a part of a message.

    The turn may be only a passage of the message. Segments without any of that passage do not count. Among segments
    with equally many asked terms, those with most of the turn count.
    """
    wanted = sample_text(join_lines(turn.text))
    held = {number: sum(sample in one for sample in wanted) for number, one in cut.words.items()}
    some = [number for number, count in held.items() if count] or list(cut.words)
    worth = {number: (cut.asked[number], held[number]) for number in some}
    most = max(worth.values(), default=(0, 0))
    return tuple(number for number, one in worth.items() if one == most)


def sample_text(text: str) -> list[str]:
    """Return a few characters from regular places of a text."""
    return [text[at : at + _SAMPLE_CHARACTERS] for at in range(0, max(len(text) - _SAMPLE_CHARACTERS, 1), _STEP)]
