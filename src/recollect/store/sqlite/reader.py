"""The reader of a bank in an SQLite file: everything that methods may see of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.banks import BankInfo
from recollect.domain.changes import Session
from recollect.domain.entities import Entity, Mention, NameInUse
from recollect.domain.items import Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import NO_VECTORS, Scope, SearchProbe
from recollect.domain.segments import Segment, Stream, Windowing
from recollect.domain.signals import Weights
from recollect.domain.time import from_micros
from recollect.domain.triples import Aggregation, Ordering, TriplePattern
from recollect.errors import StoreUnavailable
from recollect.store.index.bank_index import GRAPH_FROM_ROWS
from recollect.store.index.indexed_search import IndexedSearch
from recollect.store.index.memory import MemoryIndex
from recollect.store.index.triples import TriplePageRequest
from recollect.store.index.vectors import is_graph_library_installed, note_missing_graph
from recollect.store.protocol import Capability, EntityTables, Lookup, SessionEnd
from recollect.store.search import TriplePage
from recollect.store.sqlite.database import Database, read_state
from recollect.store.sqlite.erase import find_graph
from recollect.store.sqlite.feed import SqliteFeed, load_items, loaded_items
from recollect.store.sqlite.fetch import fetch_all
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import Row, read_entity, read_merge, read_message, read_session
from recollect.store.sqlite.segments import (
    read_messages_by_segment,
    read_segments,
    read_segments_by_message,
    read_stream,
    read_unsegmented,
    read_windowing,
)
from recollect.store.sqlite.vector_rows import unpack_vectors
from recollect.store.sqlite.write import find_numbers

P = ParamSpec("P")
T = TypeVar("T")

_RECENT = 4
_MOST_UNCHECKED = 1_000  # messages that each opening looks at again, until it is recorded that they were checked
_ALL = -1  # SQLite takes -1 as no limit


class SqliteReader:
    """Implements the readers of :mod:`recollect.store.protocol` and :mod:`recollect.store.capabilities`.

    Args:
        database: the bank's file.
        name: the bank's name.
        embedder, dimension: the embedder and the length of the bank's vectors, recorded when the bank is created.
        graph_from: the number of rows from which vector searches go through a graph.
    """

    def __init__(
        self, database: Database, *, name: str, embedder: str, dimension: int, graph_from: int = GRAPH_FROM_ROWS
    ) -> None:
        self._database, self._name = database, name
        self._embedder, self._dimension, self._graph_from = embedder, dimension, graph_from
        self._index = self._make_index()

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Return all capabilities. A bank in memory has no folder for states."""
        return frozenset(Capability) - ({Capability.STATES} if self._database.path is None else set())

    @property
    def embedder(self) -> str:
        return self._embedder

    @property
    def dimension(self) -> int:
        return self._dimension

    async def version(self) -> int:
        if self._database.has_idle_reader:  # this takes less time than passing it to a thread
            with self._database.read_transaction() as connection:
                return read_state(connection)[0]
        return await self._run_reading(lambda connection: read_state(connection)[0])

    @property
    def losses(self) -> tuple[str, ...]:
        return self._database.marks.losses

    async def speakers(self) -> tuple[str, ...]:
        return await self._index.speakers()

    async def search(
        self, probe: SearchProbe, scope: Scope, weights: Weights, tiers: Sequence[Sequence[ItemKind]] = ()
    ) -> IndexedSearch:
        return await self._index.search(probe, scope, weights, tiers)

    async def nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        return await self._index.nearest(vectors, k, floor)

    async def look_up(self, sessions: Sequence[str], messages: Sequence[str]) -> Lookup:
        return await run_in_thread(self._look_up, sessions, messages)

    async def entity_tables(self) -> EntityTables:
        return await run_in_thread(self._read_entity_tables)

    async def recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        return await run_in_thread(self._read_recent_mentions, entities, limit)

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        if ids is None:
            rows = await self._run_query("messages")
        else:
            rows = await self._run_query("messages_by_id", (json.dumps(list(ids)),))
        return [read_message(row) for row in rows]

    async def messages_of(self, sessions: Iterable[str]) -> list[StoredMessage]:
        return [read_message(row) for row in await self._run_query("messages_of", (json.dumps(list(sessions)),))]

    async def sessions(self) -> list[Session]:
        return [read_session(row) for row in await self._run_query("sessions")]

    async def adjacent_messages(self, ids: Iterable[str]) -> list[StoredMessage]:
        return [read_message(row) for row in await self._run_query("adjacent_messages", (json.dumps(list(ids)),))]

    async def messages_before(self, session: str, position: int, count: int) -> list[StoredMessage]:
        bounds = {"session": session, "position": position, "count": count}
        return [read_message(row) for row in await self._run_query("messages_before", bounds)]

    async def stream(self) -> Stream | None:
        return await self._run_reading(read_stream)

    async def windowing(self, open_windows: Callable[[Stream | None], Sequence[int]]) -> Windowing:
        return await self._run_reading(read_windowing, open_windows)

    async def unsegmented(self) -> list[StoredMessage]:
        return await self._run_reading(read_unsegmented)

    async def segments(self, numbers: Iterable[int] | None = None) -> list[Segment]:
        return await self._run_reading(read_segments, numbers)

    async def segments_of(self, messages: Iterable[str]) -> dict[str, tuple[int, ...]]:
        return await self._run_reading(read_segments_by_message, messages)

    async def segment_messages(self, numbers: Iterable[int]) -> dict[int, list[StoredMessage]]:
        return await self._run_reading(read_messages_by_segment, numbers)

    async def find_unread(self) -> list[StoredMessage]:
        return [read_message(row) for row in await self._run_query("unread")]

    async def messages_without_items(self, limit: int) -> list[StoredMessage]:
        return await run_in_thread(self._find_messages_without_items, limit)

    async def items(self, ids: Iterable[str]) -> list[Item]:
        return await run_in_thread(self._load_items, list(ids))

    async def vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        rows = await self._run_query("vectors_of", (json.dumps(list(ids)),))
        vectors = unpack_vectors([blob for _, blob in rows], self._embedder, self._dimension)
        return dict(zip((id_ for id_, _ in rows), vectors, strict=True))

    async def items_of(
        self,
        kinds: Sequence[ItemKind],
        *,
        entity: str | None = None,
        superseded: bool = False,
        limit: int | None = None,
    ) -> list[Item]:
        bounds = {
            "kinds": json.dumps([ItemKind(kind).value for kind in kinds]),
            "entity": entity,
            "superseded": superseded,
            "limit": _ALL if limit is None else limit,
        }
        return await self._load_listed("items_of_kinds" if entity is None else "items_of_entity", bounds)

    async def items_from(self, messages: Iterable[str], kinds: Sequence[ItemKind]) -> list[Item]:
        wanted = {"messages": json.dumps(list(messages)), "kinds": json.dumps([ItemKind(kind).value for kind in kinds])}
        return await self._load_listed("items_from", wanted)

    async def triples(
        self,
        pattern: TriplePattern,
        scope: Scope,
        *,
        ordering: Ordering | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> TriplePage:
        page = TriplePageRequest(ordering=ordering, limit=limit, offset=offset)
        return await self._index.triples(pattern, scope, page)

    async def count_triples(self, pattern: TriplePattern, scope: Scope, aggregation: Aggregation) -> int:
        return await self._index.count_triples(pattern, scope, aggregation)

    async def linked(
        self, items: Sequence[str], kinds: Sequence[LinkKind], scope: Scope, *, limit: int | None = None
    ) -> list[tuple[Item, float]]:
        return await self._index.linked(items, kinds, scope, limit)

    async def entities(self, ids: Iterable[str] | None = None) -> list[Entity]:
        if ids is None:
            rows = await self._run_query("entities")
        else:
            rows = await self._run_query("entities_by_id", (json.dumps(list(ids)),))
        return [read_entity(row) for row in rows]

    async def mentions_of(self, items: Iterable[str]) -> list[Mention]:
        rows = await self._run_query("mentions_in", (json.dumps(list(items)),))
        return [Mention(entity=entity, item=item, surface=surface) for entity, item, surface in rows]

    async def names_in_use(self, kinds: Sequence[ItemKind], limit: int | None = None) -> list[NameInUse]:
        wanted = json.dumps([ItemKind(kind).value for kind in kinds])
        rows = await self._run_query("names_in_use", {"kinds": wanted, "limit": _ALL if limit is None else limit})
        return [NameInUse(name=name, messages=tuple(json.loads(messages))) for name, messages in rows]

    async def setting(self, key: str) -> str | None:
        rows = await self._run_query("setting", (key,))
        return rows[0][0] if rows else None

    async def info(self) -> BankInfo:
        ((messages, sessions, items, entities, first, last),) = await self._run_query("counts")
        ((segments,),) = await self._run_query("count_segments")
        links = {kind: int(count) for kind, count in await self._run_query("links_by_kind")}
        return BankInfo(
            name=self._name,
            messages=messages,
            sessions=sessions,
            items=items,
            segments=segments,
            entities=entities,
            links=sum(links.values()),
            links_by_kind=links,
            first=None if first is None else from_micros(first),
            last=None if last is None else from_micros(last),
            embedder=self._embedder,
            dimension=self._dimension,
            size_bytes=sum(map(_file_size, self._files())),
            notes=(*self.losses, *self._notes(items)),
        )

    def _notes(self, items: int) -> tuple[str, ...]:
        if not self._dimension:
            return (NO_VECTORS,)
        outgrown = 0 <= self._graph_from <= items
        return (note_missing_graph(items),) if outgrown and not is_graph_library_installed() else ()

    def _make_index(self) -> MemoryIndex:
        path = self._database.path
        graph = None if path is None else find_graph(path)
        feed = SqliteFeed(self._database, self._embedder, self._dimension)
        return MemoryIndex(feed, self._dimension, graph=graph, graph_from=self._graph_from)

    def _files(self) -> list[Path]:
        path = self._database.path
        if path is None:
            return []
        beside = [path.with_suffix(".hnsw"), path.with_suffix(".hnsw.json")]
        return [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"), *beside]

    async def _run_query(self, name: str, bounds: Sequence[object] | Mapping[str, object] = ()) -> list[Row]:
        return await self._run_reading(lambda connection: fetch_all(connection.execute(get_query(name), bounds)))

    async def _load_listed(self, name: str, bounds: Mapping[str, object]) -> list[Item]:
        """Return the items whose numbers a query returns, in its order, all from one snapshot."""

        def listed(connection: sqlite3.Connection) -> list[Item]:
            rows = fetch_all(connection.execute(get_query(name), bounds))
            return [item for _, item in loaded_items(connection, [seq for (seq,) in rows])]

        return await self._run_reading(listed)

    async def _run_reading(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run ``work`` in a thread, in one snapshot."""

        def read() -> T:
            with self._database.read_transaction() as connection:
                return work(connection, *args, **kwargs)

        return await run_in_thread(read)

    def _find_messages_without_items(self, limit: int) -> list[StoredMessage]:
        with self._database.read_transaction() as connection:
            found = connection.execute(get_query("messages_without_items"), {"limit": limit}).fetchall()
            newest, checked = connection.execute(get_query("newest_message")).fetchone()
        if not found and newest - checked >= _MOST_UNCHECKED:
            with suppress(StoreUnavailable), self._database.write_transaction() as connection:
                connection.execute(get_query("set_checked"), (newest,))
        return [read_message(row) for row in found]

    def _look_up(self, sessions: Sequence[str], messages: Sequence[str]) -> Lookup:
        with self._database.read_transaction() as connection:
            version, _ = read_state(connection)
            (author,) = connection.execute(get_query("author")).fetchone()
            counts = {}
            for session in sessions:
                bounds = {"session": session}
                last = connection.execute(get_query("last_turn"), bounds).fetchone()
                (count,) = connection.execute(get_query("message_count"), bounds).fetchone()
                counts[session] = count, last[0] if last else None
            recent = [seq for (seq,) in connection.execute(get_query("recent_turns"), {"limit": _RECENT})]
            ends = [last for _, last in counts.values() if last is not None]
            items = dict(loaded_items(connection, list(dict.fromkeys([*ends, *recent]))))
            last_of = {items[seq].session: items[seq] for seq in ends if seq in items}
            wanted = {*messages, *(source for item in last_of.values() for source in item.sources)}
            rows = connection.execute(get_query("messages_by_id"), (json.dumps(list(wanted)),)).fetchall()
        kept = {message.id: message for message in map(read_message, rows)}
        return Lookup(
            version=version,
            author=author,
            session_ends={
                session: _make_session_end(count, last_of.get(session), kept) for session, (count, _) in counts.items()
            },
            stored={id_: kept[id_] for id_ in messages if id_ in kept},
            recent_items=tuple(items[seq] for seq in recent if seq in items),
        )

    def _read_entity_tables(self) -> EntityTables:
        with self._database.read_transaction() as connection:
            version, _ = read_state(connection)
            return EntityTables(
                version=version,
                entities=tuple(read_entity(row) for row in fetch_all(connection.execute(get_query("entities")))),
                aliases=tuple(_read_aliases(connection)),
                pairs=tuple((one, other) for one, other in fetch_all(connection.execute(get_query("entity_pairs")))),
                undone=tuple(
                    m for m in map(read_merge, connection.execute(get_query("merges"))) if m.undone is not None
                ),
            )

    def _read_recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        with self._database.read_transaction() as connection:
            return {
                entity: tuple(id_ for (id_,) in connection.execute(get_query("recent_mentions"), (entity, limit)))
                for entity in entities
            }

    def _load_items(self, ids: Sequence[str]) -> list[Item]:
        with self._database.read_transaction() as connection:
            numbers = find_numbers(connection, "seq_of_items", ids)
        return [item for _, item in load_items(self._database, [numbers[id_] for id_ in ids if id_ in numbers])]


def _make_session_end(count: int, last: Item | None, kept: Mapping[str, StoredMessage]) -> SessionEnd:
    sources = () if last is None else tuple(kept[source] for source in last.sources if source in kept)
    return SessionEnd(messages=count, last=last, last_messages=sources)


def _file_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # another process closed the bank and so removed its log
        return 0


def _read_aliases(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Return every name of an entity with its count: entity, surface and count."""
    return [(entity, surface, count) for entity, surface, count in fetch_all(connection.execute(get_query("aliases")))]
