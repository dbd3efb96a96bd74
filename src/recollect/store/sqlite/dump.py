"""A whole bank as changesets, in an order in which they can be committed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from recollect.domain.changes import Changeset
from recollect.domain.entities import Mention
from recollect.domain.items import IndexedItem, Item
from recollect.domain.links import Link, LinkKind
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.rows import Row, entity_from, item_from, merge_from, message_from, session_from
from recollect.store.sqlite.sql import query

CHUNK = 500


def dump(database: Database) -> Iterator[Changeset]:
    """The bank's sessions and entities, then messages, items, mentions, links and merges, in chunks."""
    sessions = tuple(session_from(row) for row in _all(database, "sessions"))
    entities = tuple(entity_from(row) for row in _all(database, "entities"))
    yield Changeset(sessions=sessions, entities=entities)
    for rows in _chunks(database, "messages_from"):
        yield Changeset(messages=tuple(message_from(row[1:]) for row in rows))
    for rows in _chunks(database, "indexing_from"):
        yield Changeset(items=tuple(_indexed(database, rows)))
    for rows in _chunks(database, "mentions_from"):
        yield Changeset(mentions=tuple(Mention(entity=row[1], item=row[2], surface=row[3]) for row in rows))
    for rows in _chunks(database, "links_from"):
        yield Changeset(links=tuple(_link(row) for row in rows))
    yield Changeset(merges=tuple(merge_from(row) for row in _all(database, "merges")))


def _all(database: Database, name: str) -> list[Row]:
    with database.reading() as connection:
        return connection.execute(query(name)).fetchall()


def _chunks(database: Database, name: str) -> Iterator[list[Row]]:
    """Rows of a query that takes the number after which to go on and how many to give, number first."""
    after = 0
    while True:
        with database.reading() as connection:
            rows = connection.execute(query(name), {"after": after, "count": CHUNK}).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield rows


def _indexed(database: Database, rows: list[Row]) -> Iterator[IndexedItem]:
    wanted = json.dumps([row[0] for row in rows])
    with database.reading() as connection:
        items: dict[int, Item] = {row[0]: item_from(row) for row in connection.execute(query("items"), (wanted,))}
    for seq, vector, terms, asks in rows:
        yield IndexedItem(
            item=items[seq],
            vector=np.frombuffer(vector, dtype="<f2").astype(np.float32),
            terms=np.frombuffer(terms, dtype="<u4").astype(np.uint32),
            asks=bool(asks),
        )


def _link(row: Row) -> Link:
    _, source, target, kind, weight, label = row
    return Link(source=source, target=target, kind=LinkKind(kind), weight=weight, label=label)
