"""The schema of a bank's file: its migrations, each in one transaction with its own record."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import NewerSchema, NotABank
from recollect.store.sqlite.named_queries import load_migrations
from recollect.store.sqlite.sqlite_errors import BUSY_MS

APPLICATION_ID = 0x52434C54  # "RCLT", in the file's header


def migrate(connection: sqlite3.Connection, path: Path | None) -> None:
    """Run the migrations that a file lacks. A file without tables becomes a bank.

    Raises:
        NotABank: the file is another database.
        NewerSchema: a later version of recollect wrote the file.
    """
    connection.execute("BEGIN")  # one snapshot: another process may be creating the bank right now
    mine = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    connection.execute("ROLLBACK")
    if mine != APPLICATION_ID and (mine or tables):
        raise NotABank(f"{path} is an SQLite database, but not a bank of recollect")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":  # a new bank, or a backup
        _enable_wal(connection)
    done = _migrations_done(connection) if tables else set()
    known = [name for name, _ in load_migrations()]
    if later := done.difference(known):
        raise NewerSchema(
            f"{path} was written by a later version of recollect (migration {max(later)}). "
            "To open it, upgrade recollect: pip install -U recollect"
        )
    for name, script in load_migrations():
        if name not in done:
            _run_migration(connection, name, script)


@contextmanager
def hold_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a transaction that writes. It is committed at the end, or rolled back after an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrations_done(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM migration")}


def _run_migration(connection: sqlite3.Connection, name: str, script: str) -> None:
    """Run a migration and record it in the same transaction."""
    with hold_transaction(connection):
        connection.execute("CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        done = _migrations_done(connection)
        if name in done:  # another process was faster
            return
        is_new = not done
        for statement in _split_statements(script):
            connection.execute(statement)
        connection.execute("INSERT INTO migration (name) VALUES (?)", (name,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if is_new:
            connection.execute(f"PRAGMA user_version = {secrets.randbits(31)}")  # by which the bank is recognized


def _enable_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log.

    SQLite does not wait for other processes that do the same, so this function waits.
    """
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _split_statements(script: str) -> Iterator[str]:
    """Yield a script's statements one by one. ``executescript`` would commit the transaction to which they belong."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
