"""Copy a whole bank into an empty one, in one transaction."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.dump import dump
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.write import write_changes

_OWN = frozenset({"migration", "state", "file_state"})  # the tables that the other bank keeps as they are


def require_empty(connection: sqlite3.Connection, name: str) -> None:
    """Raise an error if the bank has messages or items.

    Raises:
        InvalidInput: the bank is not empty.
    """
    if connection.execute(get_query("holds_anything")).fetchone()[0]:
        raise InvalidInput(f"bank {name!r} is not empty; import into a new one")


def copy_bank(file: Path, database: Database, name: str) -> None:
    """Copy a bank's file of this version into an empty bank. A writer sees the bank empty or complete.

    Raises:
        InvalidInput: the bank is not empty.
        StoreUnavailable: the bank cannot be written. It is unchanged.
    """
    with database.attached_transaction(file) as connection:
        require_empty(connection, name)
        connection.execute("PRAGMA defer_foreign_keys = ON")  # the tables are in no order
        for table, columns in connection.execute(get_query("tables_with_rows")).fetchall():
            if table not in _OWN:
                rows = f"SELECT {columns} FROM attached.{table}"
                connection.execute(f"INSERT OR REPLACE INTO main.{table} ({columns}) {rows}")
        connection.execute("INSERT INTO item_fts (item_fts) VALUES ('rebuild')")
        connection.execute(get_query("pass_version"))  # no index may take the copied items for older than its own
        connection.execute(get_query("bump_epoch"))


def copy_bank_in_memory(source: Database, database: Database, name: str) -> None:
    """Copy a bank in memory into an empty bank in memory. SQLite cannot attach one of them to the other.

    Raises:
        InvalidInput: the bank is not empty.
    """
    with database.write_transaction() as connection:
        require_empty(connection, name)
        for changes in dump(source):
            write_changes(connection, changes)
