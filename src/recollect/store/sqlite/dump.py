"""Dump a whole bank as changesets, in an order in which they can be committed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator

import numpy as np

from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import Mention
from recollect.domain.items import IndexedItem, Item
from recollect.domain.jobs import Job
from recollect.domain.links import Link, LinkKind
from recollect.domain.time import from_micros
from recollect.store.sqlite.database import EMBEDDER_KEYS, Database, read_embedder
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import (
    Row,
    read_entity,
    read_item,
    read_merge,
    read_message,
    read_session,
    reports_damage,
)
from recollect.store.sqlite.segments import read_all_segments, read_stream
from recollect.store.sqlite.vector_rows import unpack_vectors

CHUNK = 500


def dump(database: Database, *, vectors: bool = True) -> Generator[Changeset]:
    """Yield the bank's sessions and entities, then everything else in chunks, and jobs last.

    All of it is of one moment. Without ``vectors``, they are not read, and those of all items are empty.

    Raises:
        NotABank: a row or a vector is damaged.
    """
    if (
        database.path is None
    ):  # a bank in memory has no snapshots: all is read at once, so that writers wait only briefly
        with database.read_transaction() as connection:
            parts = list(_dump_parts(connection, vectors=vectors))
        yield from parts
        return
    with database.read_transaction() as connection:
        yield from _dump_parts(connection, vectors=vectors)


def _dump_parts(connection: sqlite3.Connection, *, vectors: bool) -> Iterator[Changeset]:
    sessions = tuple(read_session(row) for row in connection.execute(get_query("sessions")))
    entities = tuple(read_entity(row) for row in connection.execute(get_query("entities")))
    yield Changeset(sessions=sessions, entities=entities)
    for rows in _read_chunks(connection, "messages_from"):
        yield Changeset(messages=tuple(read_message(row[1:]) for row in rows))
    for items in _order_by_origin(
        read_indexed_items(connection, rows, vectors=vectors) for rows in _read_chunks(connection, "indexing_from")
    ):
        yield Changeset(items=tuple(items))
    for rows in _read_chunks(connection, "mentions_from"):
        yield Changeset(mentions=tuple(Mention(entity=row[1], item=row[2], surface=row[3]) for row in rows))
    for rows in _read_chunks(connection, "links_from"):
        yield Changeset(links=tuple(_read_link(row) for row in rows))
    for rows in _read_chunks(connection, "supersessions_from"):
        yield Changeset(supersedes=tuple(_read_supersession(row) for row in rows))
    yield Changeset(segments=tuple(read_all_segments(connection)), stream=read_stream(connection))
    settings = connection.execute(get_query("settings")).fetchall()
    yield Changeset(settings=tuple((key, value) for key, value in settings if key not in EMBEDDER_KEYS))
    yield Changeset(merges=tuple(read_merge(row) for row in connection.execute(get_query("merges"))))
    yield Changeset(jobs=tuple(_read_job(record) for record in connection.execute(get_query("queue"))))


def _read_chunks(connection: sqlite3.Connection, name: str) -> Iterator[list[Row]]:
    """Yield the rows of a query in chunks.

    The query takes the number after which it continues, and the size of a chunk. The first cell of each row is its
    number.
    """
    after = 0
    while rows := connection.execute(get_query(name), {"after": after, "count": CHUNK}).fetchall():
        after = rows[-1][0]
        yield rows


@reports_damage
def read_indexed_items(connection: sqlite3.Connection, rows: list[Row], *, vectors: bool) -> list[IndexedItem]:
    """Return items with their index data, from rows of number, vector, terms and whether the item asks.

    Without ``vectors``, the vectors are empty.

    Raises:
        NotABank: a row or a vector is damaged.
    """
    wanted = json.dumps([row[0] for row in rows])
    items: dict[int, Item] = {row[0]: read_item(row) for row in connection.execute(get_query("items"), (wanted,))}
    embedder = read_embedder(connection) if vectors else None
    stored = ("nobody", 0) if embedder is None else embedder
    read = unpack_vectors([row[1] for row in rows] if vectors else [b""] * len(rows), *stored)
    return [
        IndexedItem(
            item=items[seq],
            vector=vector,
            terms=np.frombuffer(terms, dtype="<u4").astype(np.uint32),
            asks=bool(asks),
        )
        for (seq, _, terms, asks), vector in zip(rows, read, strict=True)
    ]


def _order_by_origin(chunks: Iterable[list[IndexedItem]]) -> Iterator[list[IndexedItem]]:
    """Yield chunks of items in which no item comes before those it is derived from.

    The items need sorting because an item can be remade from later ones. Apart from that they keep their order, which
    decides between items of the same time.
    """
    given: set[str] = set()
    waiting: list[IndexedItem] = []
    for chunk in chunks:
        waiting += chunk
        while ready := _select_ready(waiting, given):
            waiting = [entry for entry in waiting if entry.item.id not in given]
            yield ready
    if waiting:  # these items are derived from each other
        yield waiting


def _select_ready(waiting: Iterable[IndexedItem], given: set[str]) -> list[IndexedItem]:
    """Return the waiting items whose origins are in ``given`` or earlier in the result, and add them to ``given``."""
    ready = []
    for entry in waiting:
        if given.issuperset(entry.item.derived_from):
            given.add(entry.item.id)
            ready.append(entry)
    return ready


@reports_damage
def _read_job(row: Row) -> Job:
    """Return a job as it was when it was queued, whatever its state is now."""
    id_, kind, payload, due, messages = row
    return Job(
        id=id_,
        kind=kind,
        payload=payload,
        messages=tuple(json.loads(messages)),
        due=from_micros(due) if due else None,
    )


@reports_damage
def _read_supersession(row: Row) -> Supersession:
    _, item, by, at = row
    return Supersession(item=item, by=by, at=from_micros(at))


@reports_damage
def _read_link(row: Row) -> Link:
    _, source, target, kind, weight, label = row
    return Link(source=source, target=target, kind=LinkKind(kind), weight=weight, label=label)
