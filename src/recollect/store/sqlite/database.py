"""Connections to one bank's file: one that writes, a few that read."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import InvalidInput, NewerSchema, NotABank, RecollectError, StoreError, StoreUnavailable
from recollect.store.sqlite.sql import migrations, query

APPLICATION_ID = 0x52434C54  # "RCLT", in the file's header
BUSY_MS = 30_000
UPKEEP_BUSY_MS = 2_000
EMBEDDER_KEYS = ("embedder", "dimension")  # settings that say whose vectors the bank holds

_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
    # A commit that was acknowledged survives a power cut.
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16000",
    # Folding the log into the file after every 4 MB would double what a batch writes.
    "PRAGMA wal_autocheckpoint = 8000",
    "CREATE TEMP TABLE doomed (seq INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE doomed_fact (item INTEGER PRIMARY KEY)",
)


class Database:
    """A bank's database; ``path`` is ``None`` for one in memory.

    Raises:
        StoreUnavailable: the folder or file cannot be opened or written.
        NotABank: the file is something else, or damaged.
        NewerSchema: the file was written by a later recollect.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._closed = False
        with self._errors():
            self._writer = self._connect()
            try:
                self._migrate()
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one connection that writes, in a transaction that is committed at the end or rolled back."""
        with self._write_lock, self._errors():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, in one snapshot."""
        if self.path is None:
            with self._write_lock, self._errors():
                yield self._writer
            return
        with self._errors():
            connection = self._borrow()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._give_back(connection)

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """The writing connection outside any transaction, with all idle readers closed: for upkeep of the file."""
        with self._write_lock, self._errors():
            self._close_idle()
            # Other processes cannot write while this one waits for their readers.
            self._writer.execute(f"PRAGMA busy_timeout = {UPKEEP_BUSY_MS}")
            try:
                yield self._writer
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def close(self) -> None:
        with self._write_lock:
            self._closed = True
            self._close_idle()
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        target = ":memory:" if self.path is None else str(self.path)
        connection = sqlite3.connect(target, isolation_level=None, check_same_thread=False, cached_statements=256)
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _borrow(self) -> sqlite3.Connection:
        with self._idle_lock:
            if self._closed:
                raise StoreError("the bank is closed")
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._idle_lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _close_idle(self) -> None:
        with self._idle_lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _migrate(self) -> None:
        connection = self._writer
        connection.execute("BEGIN")  # one snapshot: another process may be making the bank right now
        mine = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        connection.execute("ROLLBACK")
        if mine != APPLICATION_ID and (mine or tables):
            raise NotABank(f"{self.path} is an SQLite database, but no bank of recollect's")
        if mine != APPLICATION_ID:
            _use_log(connection)
        done = self._migrations_done() if tables else set()
        known = [name for name, _ in migrations()]
        if later := done.difference(known):
            raise NewerSchema(
                f"{self.path} was written by a later recollect (migration {max(later)}); "
                "upgrade: pip install -U recollect"
            )
        for name, script in migrations():
            if name not in done:
                self._run_migration(name, script)

    def _migrations_done(self) -> set[str]:
        return {name for (name,) in self._writer.execute("SELECT name FROM migration")}

    def _run_migration(self, name: str, script: str) -> None:
        """A migration and the record that it ran share a transaction."""
        with self.writing() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
            if name in self._migrations_done():  # another process was faster
                return
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute("INSERT INTO migration (name) VALUES (?)", (name,))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except RecollectError:
            raise
        except sqlite3.Error as exc:
            raise self._translated(exc) from exc
        except UnicodeDecodeError as exc:  # a complaint of SQLite's that quotes damaged bytes
            raise NotABank(f"{self.path} is no bank of recollect's, or is damaged ({exc})") from exc
        except UnicodeEncodeError as exc:
            raise InvalidInput(
                f"{exc.object[max(0, exc.start - 20) : exc.end + 20]!r} holds a lone surrogate, which no file can keep"
            ) from exc
        except OverflowError as exc:
            raise InvalidInput(f"a number is too large to be kept ({exc})") from exc

    def _translated(self, exc: sqlite3.Error) -> StoreError:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        where = self.path or "the bank in memory"
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return NotABank(f"{where} is no bank of recollect's, or is damaged ({exc})")
        hint = _HINTS.get(code)
        if hint:
            return StoreUnavailable(f"{where}: {hint} ({exc})")
        return StoreError(f"{where}: {exc}")


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite does not wait for others who are doing the same, so we do."""
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


_HINTS = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing of this write was stored, everything before it is safe",
    sqlite3.SQLITE_READONLY: "it cannot be written; check the rights of file and folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that the folder exists and can be written",
    sqlite3.SQLITE_PERM: "access is denied",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full",
    sqlite3.SQLITE_BUSY: f"another process has been writing for {BUSY_MS // 1000} s; try again",
    sqlite3.SQLITE_LOCKED: "another connection holds it; try again",
}


def _statements(script: str) -> Iterator[str]:
    """A script's statements one by one: ``executescript`` would commit the transaction they belong to."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def recorded_embedder(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Whose vectors the bank holds, and their length; ``None`` while a bank is being made."""
    rows = dict(connection.execute(query("embedder")).fetchall())
    return (rows["embedder"], int(rows["dimension"])) if len(rows) == 2 else None


def record_embedder(connection: sqlite3.Connection, embedder: str, dimension: int) -> None:
    """Record whose vectors a bank holds."""
    for key, value in zip(EMBEDDER_KEYS, (embedder, str(dimension)), strict=True):
        connection.execute(query("set_setting"), {"key": key, "value": value})


def read_state(connection: sqlite3.Connection) -> tuple[int, int]:
    """The bank's version and epoch."""
    version, epoch = connection.execute(query("state")).fetchone()
    return version, epoch
