"""Put new messages into windows over the stream: E-mem's incremental updates (section 3.2, equations 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from recollect._threads import run_in_thread
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment, Stream, Windowing
from recollect.retain.segments import SegmentSettings, count_line_tokens
from recollect.store.capabilities import SegmentReader
from recollect.text.windows import count_started_windows, find_crossings, list_open_windows

_FEW_MESSAGES: Final = 16

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSegment:
    """A segment that is full, and its messages in order."""

    segment: Segment
    messages: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowChanges:
    """The result of windowing: windows that were opened or sealed, the state of the stream, and sealed segments."""

    segments: tuple[Segment, ...]
    stream: Stream
    sealed: tuple[SealedSegment, ...] = ()


async def window_messages(
    messages: Sequence[StoredMessage], reader: SegmentReader, settings: SegmentSettings
) -> WindowChanges | None:
    """Put messages into windows, after the bank's messages that are in no window yet.

    Return ``None`` if there are none. The contents of windows are read only if a window is sealed. If the settings have
    changed, the open windows are sealed as they are, and windows of the new length begin.
    """
    before = await reader.windowing(lambda stream: _list_open(stream) if stream else [])
    fresh = (*before.unsegmented, *messages)
    if not fresh:
        return None
    changed, after = await _run_beside(fresh, partial(_plan_windows, fresh, before, settings))
    there = {segment.number for segment in before.windows}
    numbers = [one.number for one in changed if one.is_sealed and one.number in there]
    kept = await reader.segment_messages(numbers) if numbers else {}
    sealed = await _run_beside(fresh, partial(_collect_sealed, changed, kept, fresh))
    return WindowChanges(segments=changed, stream=after, sealed=sealed)


async def _run_beside(fresh: Sequence[StoredMessage], work: Callable[[], T]) -> T:
    """Do work on messages: in a thread, or at once if there are so few of them that a thread would cost more."""
    return work() if len(fresh) <= _FEW_MESSAGES else await run_in_thread(work)


def _plan_windows(
    fresh: Sequence[StoredMessage], before: Windowing, settings: SegmentSettings
) -> tuple[tuple[Segment, ...], Stream]:
    """Return the windows that change when messages are added, and the stream after them."""
    stood = before.stream or Stream(length=settings.length, overlap=settings.overlap)
    there = {segment.number: segment for segment in before.windows}
    stream, ended = (
        (stood, ()) if _has_same_windows(stood, settings) else _restart_stream(stood, settings, there.values())
    )
    counts = count_line_tokens(fresh)
    after, windows = advance_stream(
        stream,
        [(message.id, count) for message, count in zip(fresh, counts, strict=True)],
        _fill_missing(_list_open(stream), there, fresh[0]),
    )
    return (*ended, *(segment for segment in windows if there.get(segment.number) != segment)), after


def advance_stream(
    stream: Stream, messages: Iterable[tuple[str, int]], started: Iterable[Segment]
) -> tuple[Stream, tuple[Segment, ...]]:
    """Return the stream after some messages (ids and tokens), and all windows that were open at some time meanwhile.

    ``started`` are the windows that were open before.
    """
    windows = {segment.number: segment for segment in started}
    last, before = stream.last, stream.tokens - stream.base
    for id_, tokens in messages:
        crossed = find_crossings(before, tokens, length=stream.length, stride=_stream_stride(stream))
        for edge in crossed.opened:
            number = stream.number + edge.window
            windows[number] = Segment(number=number, first=id_, start=edge.token)
        for edge in crossed.sealed:
            number = stream.number + edge.window
            windows[number] = replace(windows[number], last=id_, end=edge.token)
        last, before = id_, before + tokens
    ordered = tuple(windows[number] for number in sorted(windows))
    return replace(stream, tokens=stream.base + before, last=last), ordered


def _has_same_windows(stream: Stream, settings: SegmentSettings) -> bool:
    return (stream.length, stream.overlap) == (settings.length, settings.overlap)


def _stream_stride(stream: Stream) -> int:
    return stream.length - stream.overlap


def _list_open(stream: Stream) -> list[int]:
    """Return the numbers of the open windows."""
    opened = list_open_windows(stream.tokens - stream.base, length=stream.length, stride=_stream_stride(stream))
    return [stream.number + window for window in opened]


def _restart_stream(
    stream: Stream, settings: SegmentSettings, there: Iterable[Segment]
) -> tuple[Stream, tuple[Segment, ...]]:
    """Return a stream with new settings that begins at the current place, and the open windows, sealed there."""
    anew = Stream(
        length=settings.length,
        overlap=settings.overlap,
        base=stream.tokens,
        number=stream.number + count_started_windows(stream.tokens - stream.base, stride=_stream_stride(stream)),
        tokens=stream.tokens,
        last=stream.last,
    )
    return anew, tuple(replace(segment, last=stream.last) for segment in there)


def _fill_missing(numbers: Iterable[int], there: Mapping[int, Segment], first: StoredMessage) -> list[Segment]:
    """Return the open windows. A window without any message left in the bank begins with the first new message."""
    return [there.get(number) or Segment(number=number, first=first.id) for number in numbers]


def _collect_sealed(
    changed: Iterable[Segment], kept: Mapping[int, Sequence[StoredMessage]], fresh: Sequence[StoredMessage]
) -> tuple[SealedSegment, ...]:
    """Return the windows that were sealed, each with its stored and its new messages."""
    places = {message.id: place for place, message in enumerate(fresh)}
    return tuple(
        SealedSegment(
            segment=segment,
            messages=(
                *kept.get(segment.number, ()),
                *fresh[places.get(segment.first, 0) : places.get(segment.last or "", -1) + 1],
            ),
        )
        for segment in changed
        if segment.is_sealed
    )
