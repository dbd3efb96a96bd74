"""Rows of a query in slices, so that the event loop gets its turn while many are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from recollect.store.index.pause import Pauses
from recollect.store.sqlite.rows import Row

SLICE: Final = 250


def fetch_slices(cursor: sqlite3.Cursor) -> Iterator[list[Row]]:
    """Yield the rows of a query, some hundreds at a time; the thread pauses between them (:class:`Pauses`)."""
    pauses = Pauses()
    while rows := cursor.fetchmany(SLICE):
        yield rows
        pauses.take()


def fetch_all(cursor: sqlite3.Cursor) -> list[Row]:
    """Return all rows of a query, fetched in slices; for queries that may give thousands."""
    return [row for rows in fetch_slices(cursor) for row in rows]
