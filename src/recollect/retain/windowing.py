"""New messages into windows over the stream: E-mem's incremental updates (section 3.2, equations 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment, Stream
from recollect.retain.segments import SegmentSettings, line_counts
from recollect.store.capabilities import SegmentReader
from recollect.text.windows import begun_windows, open_windows, opened_and_sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A segment that is full, and its messages in order."""

    segment: Segment
    messages: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """What messages did to the windows: those that they opened or sealed, where the stream stands, what was sealed."""

    segments: tuple[Segment, ...]
    stream: Stream
    sealed: tuple[Sealed, ...] = ()


async def windowed(
    messages: Sequence[StoredMessage], reader: SegmentReader, settings: SegmentSettings
) -> Windowed | None:
    """Put messages into windows, after those that the bank holds and nobody has put into any; ``None`` for none.

    Nothing is read of what is in the windows already, unless it is sealed. Where the settings have changed, what is
    open is sealed as it stands, and windows of the new length begin.
    """
    fresh = (*await reader.unsegmented(), *messages)
    if not fresh:
        return None
    stood = await reader.stream() or Stream(length=settings.length, overlap=settings.overlap)
    there = {segment.number: segment for segment in await reader.segments(_open_in(stood))}
    stream, ended = (stood, ()) if _fits(stood, settings) else _begun_anew(stood, settings, there.values())
    counts = line_counts(fresh)
    after, windows = advanced(
        stream,
        [(message.id, count) for message, count in zip(fresh, counts, strict=True)],
        _or_begun(_open_in(stream), there, fresh[0]),
    )
    changed = (*ended, *(segment for segment in windows if there.get(segment.number) != segment))
    kept = await reader.segment_messages([one.number for one in changed if one.sealed and one.number in there])
    return Windowed(segments=changed, stream=after, sealed=_sealed(changed, kept, fresh))


def advanced(
    stream: Stream, messages: Iterable[tuple[str, int]], begun: Iterable[Segment]
) -> tuple[Stream, tuple[Segment, ...]]:
    """Where the stream stands after messages (their ids and tokens), and the windows that were open before or after.

    ``begun`` are those that were open before.
    """
    windows = {segment.number: segment for segment in begun}
    last, before = stream.last, stream.tokens - stream.base
    for id_, tokens in messages:
        crossed = opened_and_sealed(before, tokens, length=stream.length, stride=_stride(stream))
        for edge in crossed.opened:
            number = stream.number + edge.window
            windows[number] = Segment(number=number, first=id_, start=edge.token)
        for edge in crossed.sealed:
            number = stream.number + edge.window
            windows[number] = replace(windows[number], last=id_, end=edge.token)
        last, before = id_, before + tokens
    ordered = tuple(windows[number] for number in sorted(windows))
    return replace(stream, tokens=stream.base + before, last=last), ordered


def _fits(stream: Stream, settings: SegmentSettings) -> bool:
    return (stream.length, stream.overlap) == (settings.length, settings.overlap)


def _stride(stream: Stream) -> int:
    return stream.length - stream.overlap


def _open_in(stream: Stream) -> list[int]:
    """The numbers of the windows that are open."""
    opened = open_windows(stream.tokens - stream.base, length=stream.length, stride=_stride(stream))
    return [stream.number + window for window in opened]


def _begun_anew(
    stream: Stream, settings: SegmentSettings, there: Iterable[Segment]
) -> tuple[Stream, tuple[Segment, ...]]:
    """A stream of other windows from where it stands, and the open ones as they are sealed there."""
    anew = Stream(
        length=settings.length,
        overlap=settings.overlap,
        base=stream.tokens,
        number=stream.number + begun_windows(stream.tokens - stream.base, stride=_stride(stream)),
        tokens=stream.tokens,
        last=stream.last,
    )
    return anew, tuple(replace(segment, last=stream.last) for segment in there)


def _or_begun(numbers: Iterable[int], there: Mapping[int, Segment], first: StoredMessage) -> list[Segment]:
    """The open windows; one of which nothing is left in the bank begins with the first new message."""
    return [there.get(number) or Segment(number=number, first=first.id) for number in numbers]


def _sealed(
    changed: Iterable[Segment], kept: Mapping[int, Sequence[StoredMessage]], fresh: Sequence[StoredMessage]
) -> tuple[Sealed, ...]:
    """The windows that were sealed, each with the messages that the bank had of it and those that are new."""
    places = {message.id: place for place, message in enumerate(fresh)}
    return tuple(
        Sealed(
            segment=segment,
            messages=(
                *kept.get(segment.number, ()),
                *fresh[places.get(segment.first, 0) : places.get(segment.last or "", -1) + 1],
            ),
        )
        for segment in changed
        if segment.sealed
    )
