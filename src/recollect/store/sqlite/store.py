"""One bank in one SQLite file."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Changeset
from recollect.domain.entities import Entity, Mention, Merge
from recollect.domain.items import Item
from recollect.domain.jobs import Job
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Probe, Scope
from recollect.domain.receipts import ForgetReceipt
from recollect.domain.signals import Weights
from recollect.domain.time import to_micros
from recollect.errors import StaleWrite
from recollect.store.index.index import GRAPH_FROM_ROWS
from recollect.store.protocol import EntityTables, Known, Selection, SessionEnd
from recollect.store.sqlite.commit import numbers_of, require_vectors, require_version, vector_blob, write_changes
from recollect.store.sqlite.database import Database, read_state, record_embedder
from recollect.store.sqlite.dump import dump
from recollect.store.sqlite.forget import Removed, remove, scrub
from recollect.store.sqlite.live import LiveIndex
from recollect.store.sqlite.rows import Row, entity_from, entity_row, merge_from, message_from, utc_from
from recollect.store.sqlite.search import SqliteSearch, load_items
from recollect.store.sqlite.sql import query

T = TypeVar("T")

MOST_ATTEMPTS = 5
RETRY_S = 30.0
_RECENT = 4


class SqliteStore:
    """Implements :class:`recollect.store.protocol.Store`. Safe for threads, tasks and other processes.

    Args:
        database: the bank's file.
        name: the bank's name.
        embedder, dimension: whose vectors the bank holds; recorded when it is created.
        graph_from: rows from which vector searches go through a graph.
    """

    def __init__(
        self, database: Database, *, name: str, embedder: str, dimension: int, graph_from: int = GRAPH_FROM_ROWS
    ) -> None:
        self._database, self._name = database, name
        self._embedder, self._dimension, self._graph_from = embedder, dimension, graph_from
        self._live = self._new_index()

    @property
    def name(self) -> str:
        return self._name

    @property
    def embedder(self) -> str:
        return self._embedder

    @property
    def dimension(self) -> int:
        return self._dimension

    async def speakers(self) -> tuple[str, ...]:
        with self._live.fresh() as index:
            return index.table.speakers.names()

    async def search(self, probe: Probe, scope: Scope, weights: Weights) -> SqliteSearch:
        return await asyncio.to_thread(SqliteSearch, self._database, self._live, probe, scope, weights)

    async def nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        return await asyncio.to_thread(self._nearest, vectors, k, floor)

    async def known(self, sessions: Sequence[str], messages: Sequence[str]) -> Known:
        return await asyncio.to_thread(self._known, sessions, messages)

    async def entity_tables(self) -> EntityTables:
        return await asyncio.to_thread(self._entity_tables)

    async def recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        return await asyncio.to_thread(self._recent_mentions, entities, limit)

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        if ids is None:
            rows = await self._read("messages", ())
        else:
            rows = await self._read("messages_by_id", (json.dumps(list(ids)),))
        return [message_from(row) for row in rows]

    async def items(self, ids: Iterable[str]) -> list[Item]:
        return await asyncio.to_thread(self._items, list(ids))

    async def merges(self) -> tuple[Merge, ...]:
        return tuple(merge_from(row) for row in await self._read("merges", ()))

    async def mentions(self, entity: str) -> tuple[Mention, ...]:
        rows = await self._read("mentions_of", (entity,))
        return tuple(Mention(entity=entity, item=item, surface=surface) for item, surface in rows)

    async def info(self) -> BankInfo:
        ((messages, sessions, items, entities, links, first, last),) = await self._read("counts", ())
        return BankInfo(
            name=self._name,
            messages=messages,
            sessions=sessions,
            items=items,
            entities=entities,
            links=links,
            first=None if first is None else utc_from(first),
            last=None if last is None else utc_from(last),
            embedder=self._embedder,
            dimension=self._dimension,
            size_bytes=sum(map(_size, self._files())),
        )

    async def commit(self, changes: Changeset) -> None:
        await self._write(lambda: self._commit(changes))

    async def forget(self, selection: Selection) -> tuple[ForgetReceipt, list[StoredMessage]]:
        return await self._write(lambda: self._forget(selection))

    async def claim(self, kinds: Sequence[str], worker: str, now: datetime, lease_s: float) -> Job | None:
        bounds = {
            "kinds": json.dumps(list(kinds)),
            "worker": worker,
            "now": to_micros(now),
            "until": to_micros(now + timedelta(seconds=lease_s)),
        }
        row = await self._write(lambda: self._claim(bounds))
        return Job(id=row[0], kind=row[1], payload=row[2], attempts=row[3]) if row else None

    async def settle(self, job: Job, *, error: str | None, now: datetime) -> None:
        if error is None:
            await self._write(lambda: self._execute("finish_job", {"id": job.id}))
            return
        later = to_micros(now + timedelta(seconds=RETRY_S * 2**job.attempts))
        bounds = {
            "id": job.id,
            "attempts": job.attempts,
            "error": error,
            "most": MOST_ATTEMPTS,
            "run_after": later,
        }
        await self._write(lambda: self._execute("fail_job", bounds))

    async def split(self, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
        await self._write(lambda: self._split(merge, entity, moved))

    def dump(self) -> AsyncIterator[Changeset]:
        return _in_thread(dump(self._database))

    async def replace_vectors(
        self,
        embedder: str,
        dimension: int,
        vectors: Sequence[tuple[str, NDArray[np.float32]]],
        *,
        seen: int | None = None,
    ) -> None:
        await self._write(lambda: self._replace_vectors(embedder, dimension, vectors, seen))

    async def close(self) -> None:
        try:
            await asyncio.to_thread(self._live.save)
        finally:
            await asyncio.to_thread(self._database.close)

    def _new_index(self) -> LiveIndex:
        path = self._database.path
        graph_path = None if path is None else path.with_suffix(".hnsw")
        return LiveIndex(self._database, (self._embedder, self._dimension), graph_path, self._graph_from)

    def _files(self) -> list[Path]:
        path = self._database.path
        if path is None:
            return []
        beside = [path.with_suffix(".hnsw"), path.with_suffix(".hnsw.json")]
        return [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"), *beside]

    def _drop_graph(self) -> None:
        for file in self._files()[3:]:
            file.unlink(missing_ok=True)

    async def _read(self, name: str, bounds: Sequence[object]) -> list[Row]:
        def read() -> list[Row]:
            with self._database.reading() as connection:
                return connection.execute(query(name), bounds).fetchall()

        return await asyncio.to_thread(read)

    async def _write(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    def _execute(self, name: str, bounds: dict[str, object]) -> Row | None:
        with self._database.writing() as connection:
            row: Row | None = connection.execute(query(name), bounds).fetchone()
            return row

    def _claim(self, bounds: dict[str, object]) -> Row | None:
        with self._database.writing() as connection:
            # A job that takes its worker down each time must not be claimed for ever.
            connection.execute(query("give_up_jobs"), {"now": bounds["now"], "most": MOST_ATTEMPTS})
            row: Row | None = connection.execute(query("claim_job"), bounds).fetchone()
            return row

    def _commit(self, changes: Changeset) -> None:
        with self._database.writing() as connection:
            if changes.items:
                require_vectors(connection, changes.items, self._embedder, self._dimension)
            write_changes(connection, changes)

    def _nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        with self._live.fresh() as index:
            found = [
                (index.table.seq.view[rows].tolist(), scores.tolist()) for rows, scores in index.near(vectors, k, floor)
            ]
        wanted = sorted({seq for seqs, _ in found for seq in seqs})
        with self._database.reading() as connection:
            ids = dict(connection.execute(query("item_ids"), (json.dumps(wanted),)).fetchall())
        return [[(ids[seq], score) for seq, score in zip(*pair, strict=True) if seq in ids] for pair in found]

    def _known(self, sessions: Sequence[str], messages: Sequence[str]) -> Known:
        with self._database.reading() as connection:
            version, _ = read_state(connection)
            (author,) = connection.execute(query("author")).fetchone()
            counts = {}
            for session in sessions:
                bounds = {"session": session}
                last = connection.execute(query("last_turn"), bounds).fetchone()
                (count,) = connection.execute(query("message_count"), bounds).fetchone()
                counts[session] = count, last[0] if last else None
            recent = [seq for (seq,) in connection.execute(query("recent_turns"), {"limit": _RECENT})]
            kept = connection.execute(query("messages_by_id"), (json.dumps(list(messages)),)).fetchall()
        loaded = load_items(self._database, [last for _, last in counts.values() if last is not None])
        last_of = {item.session: item for _, item in loaded}
        return Known(
            version=version,
            author=author,
            ends={s: SessionEnd(messages=count, last=last_of.get(s)) for s, (count, _) in counts.items()},
            kept={message.id: message for message in map(message_from, kept)},
            recent=tuple(item for _, item in load_items(self._database, recent)),
        )

    def _entity_tables(self) -> EntityTables:
        with self._database.reading() as connection:
            version, _ = read_state(connection)
            return EntityTables(
                version=version,
                entities=tuple(entity_from(row) for row in connection.execute(query("entities"))),
                aliases=tuple(connection.execute(query("aliases")).fetchall()),
                pairs=tuple(connection.execute(query("entity_pairs")).fetchall()),
                undone=tuple(m for m in map(merge_from, connection.execute(query("merges"))) if m.undone is not None),
            )

    def _recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        with self._database.reading() as connection:
            return {
                entity: tuple(id_ for (id_,) in connection.execute(query("recent_mentions"), (entity, limit)))
                for entity in entities
            }

    def _items(self, ids: Sequence[str]) -> list[Item]:
        with self._database.reading() as connection:
            numbers = numbers_of(connection, "seq_of_items", ids)
        return [item for _, item in load_items(self._database, [numbers[id_] for id_ in ids if id_ in numbers])]

    def _split(self, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
        with self._database.writing() as connection:
            connection.execute(query("bump_version"), ("",))
            connection.execute(query("put_entity"), entity_row(entity))
            numbers = numbers_of(connection, "seq_of_items", {mention.item for mention in moved})
            rows = [(entity.id, merge.entity, numbers[mention.item], mention.surface) for mention in moved]
            connection.executemany(query("move_mention"), rows)
            undone = None if merge.undone is None else to_micros(merge.undone)
            connection.execute(query("undo_merge"), {"id": merge.id, "at": undone})

    def _forget(self, selection: Selection) -> tuple[ForgetReceipt, list[StoredMessage]]:
        began = time.perf_counter()
        with self._database.writing() as connection:
            removed = remove(connection, selection)
            rows = connection.execute(query("messages_by_id"), (json.dumps(removed.orphans),)).fetchall()
        leftovers: tuple[str, ...] = ()
        if removed.messages:
            self._drop_graph()
            leftovers = scrub(self._database, removed.texts, self._files())
        return _receipt(removed, leftovers, time.perf_counter() - began), [message_from(row) for row in rows]

    def _replace_vectors(
        self, embedder: str, dimension: int, vectors: Sequence[tuple[str, NDArray[np.float32]]], seen: int | None
    ) -> None:
        with self._database.writing() as connection:
            require_version(connection, seen)
            blobs = [(vector_blob(vector), id_) for id_, vector in vectors]
            connection.executemany(query("set_vector"), blobs)
            record_embedder(connection, embedder, dimension)
            connection.execute(query("bump_epoch"))
            (items,) = connection.execute(query("count_items")).fetchone()
            if items != len(vectors):
                raise StaleWrite(f"the bank has {items} items, but there are new vectors for {len(vectors)}")
        self._drop_graph()
        self._embedder, self._dimension = embedder, dimension
        self._live = self._new_index()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # another process closed the bank, and its log with it
        return 0


async def _in_thread(values: Generator[T]) -> AsyncIterator[T]:
    """An iterator's values, each computed in a thread."""
    try:
        while (value := await asyncio.to_thread(next, values, None)) is not None:
            yield value
    finally:
        with suppress(ValueError):  # cancelled while its thread still computes one; it ends with that
            await asyncio.to_thread(values.close)


def _receipt(removed: Removed, leftovers: tuple[str, ...], seconds: float) -> ForgetReceipt:
    return ForgetReceipt(
        messages=removed.messages,
        sessions=removed.sessions,
        items=removed.items,
        links=removed.links,
        entities=removed.entities,
        mentions=removed.mentions,
        jobs=removed.jobs,
        verified=not leftovers,
        leftovers=leftovers,
        seconds=seconds,
    )
