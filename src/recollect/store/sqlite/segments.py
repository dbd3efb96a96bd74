"""Read and write windows over the stream of messages. The ends of a window are stored as numbers of messages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment, Stream, Windowing
from recollect.store.forget_plan import SplitSegment
from recollect.store.sqlite.fetch import fetch_slices
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import Row, read_message, reports_damage


def put_segments(connection: sqlite3.Connection, segments: Sequence[Segment], numbers: Mapping[str, int]) -> None:
    """Write windows. ``numbers`` are the numbers of the messages at their ends."""
    rows = [(s.number, numbers[s.first], s.start, s.last and numbers[s.last], s.end) for s in segments]
    connection.executemany(get_query("put_segment"), rows)


def put_stream(connection: sqlite3.Connection, stream: Stream, numbers: Mapping[str, int]) -> None:
    """Write the state of the windowing. ``numbers`` contains the number of its last message."""
    upto = 0 if stream.last is None else numbers[stream.last]
    row = (stream.length, stream.overlap, stream.base, stream.number, stream.tokens, upto)
    connection.execute(get_query("put_stream"), row)


def list_end_messages(segments: Iterable[Segment], stream: Stream | None) -> set[str]:
    """Return the ids of all messages that windows and the stream name."""
    named = {id_ for segment in segments for id_ in (segment.first, segment.last)}
    return {id_ for id_ in (*named, stream.last if stream else None) if id_ is not None}


def read_stream(connection: sqlite3.Connection) -> Stream | None:
    """Return the state of the windowing."""
    row = connection.execute(get_query("stream")).fetchone()
    return None if row is None else _read_stream(row)


def read_segments(connection: sqlite3.Connection, numbers: Iterable[int] | None) -> list[Segment]:
    """Return windows by number, or all sealed windows and the active one."""
    if numbers is None:
        rows = connection.execute(get_query("segments"))
    else:
        rows = connection.execute(get_query("segments_by_number"), (json.dumps(list(numbers)),))
    return [_read_segment(row) for row in rows]


def read_all_segments(connection: sqlite3.Connection) -> list[Segment]:
    """Return every window, open ones included."""
    return [_read_segment(row) for row in connection.execute(get_query("all_segments"))]


def read_segments_by_message(connection: sqlite3.Connection, messages: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the windows that contain each message."""
    rows = connection.execute(get_query("segments_of"), (json.dumps(list(messages)),))
    return {id_: tuple(number for _, number in pairs) for id_, pairs in groupby(rows, key=lambda row: str(row[0]))}


def read_unsegmented(connection: sqlite3.Connection) -> list[StoredMessage]:
    """Return the messages that were not windowed yet."""
    slices = fetch_slices(connection.execute(get_query("unsegmented")))
    return [read_message(row) for rows in slices for row in rows]


def read_windowing(connection: sqlite3.Connection, open_windows: Callable[[Stream | None], Sequence[int]]) -> Windowing:
    """Return the stream, the windows that ``open_windows`` names, and the messages that were not windowed yet."""
    stream = read_stream(connection)
    numbers = open_windows(stream)
    windows = read_segments(connection, numbers) if numbers else []
    return Windowing(stream=stream, windows=tuple(windows), unsegmented=tuple(read_unsegmented(connection)))


def read_messages_by_segment(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, list[StoredMessage]]:
    """Return the messages of windows by window number."""
    rows = connection.execute(get_query("segment_messages"), (json.dumps(list(numbers)),))
    return {number: [read_message(row[:-1]) for row in group] for number, group in groupby(rows, key=itemgetter(-1))}


def find_split_segments(connection: sqlite3.Connection) -> tuple[SplitSegment, ...]:
    """Return the sealed windows of which some messages are marked to be forgotten, but not all."""
    segments = [_read_segment(row) for row in connection.execute(get_query("split_segments")).fetchall()]
    return tuple(
        SplitSegment(segment=segment, remaining=_read_remaining(connection, segment.number)) for segment in segments
    )


def _read_remaining(connection: sqlite3.Connection, number: int) -> tuple[StoredMessage, ...]:
    return tuple(read_message(row) for row in connection.execute(get_query("left_of_segment"), (number,)))


@reports_damage
def _read_segment(row: Row) -> Segment:
    number, first, start, last, end = row
    return Segment(number=number, first=first, start=start, last=last, end=end)


@reports_damage
def _read_stream(row: Row) -> Stream:
    length, overlap, base, number, tokens, last = row
    return Stream(length=length, overlap=overlap, base=base, number=number, tokens=tokens, last=last)
