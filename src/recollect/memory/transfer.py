"""Export and import a bank as JSON Lines: one value a line, in an order in which the lines can be imported.

The first line is a :class:`ExportHeader`. Every other line is a value of the domain with its fields and its ``type``.
The types come in this order: ``session``, ``entity``, ``message``, ``item`` (with vector and terms in base64),
``mention``, ``link``, ``supersession``, ``setting``, ``segment``, ``stream``, ``merge``, ``job``. A ``setting`` is a
``key`` and a ``value``. The bank's profile is a setting. There is at most one ``stream``, the state of windowing.

A ``job`` has ``id``, ``kind``, ``payload``, the ids of its ``messages``, and the time when it is ``due``. Jobs that
wait, run or are dead are exported. After the import they wait like new jobs.

Times are in ISO 8601. A field that is left out has its default. The format is 3. Format 1 had no supersessions, no
settings and no jobs. Format 2 had no labels of items, no pinned messages and no segments. Both can still be imported.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect._threads import run_in_thread
from recollect.domain.changes import Changeset, Session, Supersession
from recollect.domain.checks import require_iterable
from recollect.domain.codec import from_json, to_json
from recollect.domain.entities import Entity, Mention, Merge
from recollect.domain.items import IndexedItem
from recollect.domain.jobs import Job
from recollect.domain.links import Link
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment, Stream
from recollect.errors import InvalidInput, MalformedLine, StoreError
from recollect.formats.lines import number_lines
from recollect.models.embedder import Embedder
from recollect.retain.embed import embed_items
from recollect.store.protocol import Store

FORMAT = 3
CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSetting:
    """A setting of a bank."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedJob:
    """The part of a job that does not depend on the queue."""

    id: str
    kind: str
    payload: str
    messages: tuple[str, ...] = ()
    due: datetime | None = None


_TYPES = {
    "session": ("sessions", Session),
    "entity": ("entities", Entity),
    "message": ("messages", StoredMessage),
    "item": ("items", IndexedItem),
    "mention": ("mentions", Mention),
    "link": ("links", Link),
    "supersession": ("supersedes", Supersession),
    "setting": ("settings", ExportedSetting),
    "segment": ("segments", Segment),
    "stream": ("stream", Stream),
    "merge": ("merges", Merge),
    "job": ("jobs", ExportedJob),
}
_NAMES = {field: name for name, (field, _) in _TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportHeader:
    """The first line of an export."""

    format: int
    bank: str
    embedder: str
    dimension: int


async def export_lines(store: Store) -> AsyncIterator[str]:
    """Yield the lines of a bank, without line ends."""
    header = ExportHeader(format=FORMAT, bank=store.name, embedder=store.embedder, dimension=store.dimension)
    yield _dump_line("bank", header)
    async for changes in store.dump():
        for line in await run_in_thread(_dump_lines, changes):
            yield line


def _dump_lines(changes: Changeset) -> list[str]:
    """Return the lines of some hundred values. Call it in a thread, because converting vectors to text takes long."""
    return [_dump_line(name, value) for field, name in _NAMES.items() for value in _list_values(changes, field)]


async def import_lines(store: Store, lines: Iterable[str], embedder: Embedder) -> None:
    """Commit the lines of an export to a new bank. Items of another embedder are embedded again.

    The lines are read and parsed in a thread, some hundred at a time. It is none of the library's own threads, because
    the lines may come from anywhere, and may never come.

    Raises:
        InvalidInput: the first line is not the first line of an export.
        MalformedLine: a line is damaged.
        StoreError: the bank does not contain what was written.
    """
    given = require_iterable("lines", lines)
    numbered = ((line.number, line.text) for line in number_lines(given) if not line.is_blank)
    header = await asyncio.to_thread(lambda: _read_header(next(numbered, (1, ""))))  # noqa: TID251
    same = (header.embedder, header.dimension) == (embedder.name, embedder.dimension)
    parsed = _read_changesets(numbered, header.dimension)
    messages = items = 0
    while (changes := await asyncio.to_thread(next, parsed, None)) is not None:  # noqa: TID251
        await store.commit(changes if same else await _embed_missing(changes, store, embedder))
        messages, items = messages + len(changes.messages), items + len(changes.items)
    info = await store.info()
    if (info.messages, info.items) != (messages, items):
        raise StoreError(
            f"the export has {messages} messages and {items} items, but {info.messages} and {info.items} were stored"
        )


async def _embed_missing(changes: Changeset, store: Store, embedder: Embedder) -> Changeset:
    if not changes.items:
        return changes
    vectors = await embed_items([entry.item for entry in changes.items], store, embedder)
    items = (replace(entry, vector=vector) for entry, vector in zip(changes.items, vectors, strict=True))
    return replace(changes, items=tuple(items))


def _read_changesets(numbered: Iterable[tuple[int, str]], dimension: int) -> Iterator[Changeset]:
    """Yield the values of the lines in chunks. Each chunk has values of one type."""
    field, values = "", list[object]()
    for number, line in numbered:
        next_field, value = _read_value(number, line)
        if isinstance(value, IndexedItem) and value.vector.shape != (dimension,):
            raise MalformedLine(number, f"a vector of {len(value.vector)} numbers, but the header says {dimension}")
        if values and (next_field != field or len(values) == CHUNK):
            yield _make_changeset(field, values)
            values = []
        field = next_field
        values.append(value)
    if values:
        yield _make_changeset(field, values)


def _list_values(changes: Changeset, field: str) -> Iterable[object]:
    if field == "settings":
        return [ExportedSetting(key=key, value=value) for key, value in changes.settings]
    if field == "stream":
        return () if changes.stream is None else (changes.stream,)
    if field == "jobs":
        return [
            ExportedJob(id=one.id, kind=one.kind, payload=one.payload, messages=one.messages, due=one.due)
            for one in changes.jobs
        ]
    values: tuple[object, ...] = getattr(changes, field)
    return values


def _make_changeset(field: str, values: list[object]) -> Changeset:
    cells: dict[str, Any] = {field: values[-1] if field == "stream" else tuple(map(_cell, values))}
    return Changeset(**cells)


def _cell(value: object) -> object:
    match value:
        case ExportedSetting():
            return value.key, value.value
        case ExportedJob():
            return Job(id=value.id, kind=value.kind, payload=value.payload, messages=value.messages, due=value.due)
        case _:
            return value


def _read_value(number: int, line: str) -> tuple[str, object]:
    data = _read_object(number, line)
    name = data.pop("type", None)
    if not isinstance(name, str) or name not in _TYPES:
        raise MalformedLine(number, f"type {name!r} is not one of {', '.join(_TYPES)}")
    field, kind = _TYPES[name]
    try:
        return field, from_json(kind, data)
    except ValueError as exc:
        raise MalformedLine(number, f"this is not a valid {name}: {exc}") from exc


def _read_header(first: tuple[int, str]) -> ExportHeader:
    number, line = first
    data = _read_object(number, line)
    if data.pop("type", None) != "bank":
        raise InvalidInput(
            'this is not an export of a bank: its first line has no type "bank". Use retain for messages'
        )
    try:
        header = from_json(ExportHeader, data)
    except ValueError as exc:
        raise MalformedLine(number, f"this is not a valid header: {exc}") from exc
    if header.format > FORMAT:
        raise InvalidInput(
            f"the export has format {header.format}, from a later version of recollect. Upgrade recollect"
        )
    return header


def _read_object(number: int, line: str) -> dict[str, object]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise MalformedLine(number, f"not JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise MalformedLine(number, "not a JSON object")
    return data


def _dump_line(name: str, value: object) -> str:
    return json.dumps({"type": name, **to_json(value)}, ensure_ascii=False)
