"""Fetch the rows of a query in slices, so that the event loop can run while many rows are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from recollect.store.index.pause import Pauses
from recollect.store.sqlite.rows import Row

SLICE: Final = 250


def fetch_slices(cursor: sqlite3.Cursor) -> Iterator[list[Row]]:
    """Yield the rows of a query, some hundreds at a time. The thread pauses between them (:class:`Pauses`)."""
    pauses = Pauses()
    while rows := cursor.fetchmany(SLICE):
        yield rows
        pauses.take()


def fetch_all(cursor: sqlite3.Cursor) -> list[Row]:
    """Return all rows of a query, fetched in slices. Use this for queries that may return thousands of rows."""
    return [row for rows in fetch_slices(cursor) for row in rows]
