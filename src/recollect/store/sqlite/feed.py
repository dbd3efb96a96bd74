"""Read a bank's rows for the index in memory, and its items by their numbers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item
from recollect.domain.links import LinkKind
from recollect.domain.validity import OPEN_EDGES
from recollect.store.index.row_batch import RowBatch
from recollect.store.search import LINK_KINDS, Edges, Refs
from recollect.store.sqlite.database import Database, read_state
from recollect.store.sqlite.fetch import SLICE, fetch_all, fetch_slices
from recollect.store.sqlite.index_rows import make_batch
from recollect.store.sqlite.named_queries import get_query, quote_phrase
from recollect.store.sqlite.rows import read_item
from recollect.store.sqlite.write import require_embedder

_KIND_CODES = {kind.value: code for code, kind in enumerate(LINK_KINDS)}


class SqliteFeed:
    """Implements :class:`recollect.store.index.memory.IndexedRows` over a bank's file."""

    def __init__(self, database: Database, embedder: str, dimension: int) -> None:
        self._database, self._embedder, self._dimension = database, embedder, dimension

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        with self._database.read_transaction() as connection:
            version, epoch = read_state(connection)
            yield SqliteSnapshot(connection, self._embedder, self._dimension, version, epoch)

    def load(self, numbers: Sequence[int]) -> list[tuple[int, Item]]:
        with self._database.read_transaction() as connection:
            return loaded_items(connection, numbers)

    def ids_of(self, numbers: Sequence[int]) -> dict[int, str]:
        with self._database.read_transaction() as connection:
            rows = fetch_all(connection.execute(get_query("item_ids"), (json.dumps(list(numbers)),)))
        return {row[0]: row[1] for row in rows}

    def hidden_by(self, ids: Collection[str]) -> list[int]:
        with self._database.read_transaction() as connection:
            return [seq for (seq,) in connection.execute(get_query("hidden"), {"ids": json.dumps(list(ids))})]

    def holding(self, phrases: Sequence[str]) -> list[int]:
        match = " OR ".join(map(quote_phrase, phrases))
        with self._database.read_transaction() as connection:
            return [seq for (seq,) in connection.execute(get_query("phrase"), (match,))]

    def edges(self, refs: Refs) -> Edges:
        with self._database.read_transaction() as connection:
            found = fetch_all(connection.execute(get_query("edges"), {"refs": json.dumps(refs.tolist())}))
        origins, targets, kinds, weights = zip(*found, strict=True) if found else ((), (), (), ())
        return Edges(
            origins=np.asarray(origins, dtype=np.int64),
            targets=np.asarray(targets, dtype=np.int64),
            kinds=np.asarray([_KIND_CODES[kind] for kind in kinds], dtype=np.int8),
            weights=np.asarray(weights, dtype=np.float32),
        )

    def linked(self, items: Sequence[str], kinds: Sequence[LinkKind]) -> list[tuple[int, float]]:
        wanted = {"items": json.dumps(list(items)), "kinds": json.dumps([LinkKind(kind).value for kind in kinds])}
        with self._database.read_transaction() as connection:
            return [(seq, weight) for seq, weight in fetch_all(connection.execute(get_query("linked"), wanted))]


@dataclass(frozen=True, slots=True)
class SqliteSnapshot:
    """Implements :class:`recollect.store.index.feed.FeedSnapshot`: the file in one read transaction."""

    connection: sqlite3.Connection
    embedder: str
    dimension: int
    version: int
    epoch: int

    def batches(self, since: int, upto: int) -> Iterator[RowBatch]:
        """See :meth:`recollect.store.index.feed.FeedSnapshot.batches`.

        Raises:
            EmbedderMismatch: another process has replaced the bank's vectors with those of another embedder.
        """
        if since == 0:
            require_embedder(self.connection, self.embedder, self.dimension)
        numbers = self._numbers(since, upto)
        for start in range(0, len(numbers), SLICE):
            bounds = {"numbers": json.dumps(numbers[start : start + SLICE]), "open": OPEN_EDGES}
            rows, spans, triples = (
                self.connection.execute(get_query(name), bounds).fetchall()
                for name in ("rows_of", "spans_of", "triples_of")
            )
            yield make_batch(rows, spans, triples, (self.embedder, self.dimension))

    def count(self, since: int, upto: int) -> int:
        (count,) = self.connection.execute(get_query("count_between"), {"since": since, "upto": upto}).fetchone()
        return int(count)

    def numbers(self, upto: int) -> NDArray[np.int64]:
        return np.array(self._numbers(0, upto), dtype=np.int64)

    def _numbers(self, since: int, upto: int) -> list[int]:
        found = self.connection.execute(get_query("numbers_between"), {"since": since, "upto": upto})
        return [seq for (seq,) in fetch_all(found)]


def load_items(database: Database, numbers: Sequence[int]) -> list[tuple[int, Item]]:
    """Return numbers and items in the order of ``numbers``. Items that were removed are left out."""
    with database.read_transaction() as connection:
        return loaded_items(connection, numbers)


def loaded_items(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[tuple[int, Item]]:
    """Return the same as :func:`load_items`, in the caller's transaction."""
    found: dict[int, Item] = {}
    for rows in fetch_slices(connection.execute(get_query("items"), (json.dumps(list(numbers)),))):
        found.update((row[0], read_item(row)) for row in rows)
    return [(number, found[number]) for number in numbers if number in found]
