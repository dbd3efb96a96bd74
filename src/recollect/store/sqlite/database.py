"""Connections to one bank's file: one that writes, and a few that read."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.domain.processes import HomeProcess
from recollect.errors import (
    BankNotFound,
    StoreError,
    StoreUnavailable,
)
from recollect.store.sqlite.forking import FORK_GATE, FileId
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.raw_files import begin_use, end_use
from recollect.store.sqlite.schema import hold_transaction, migrate
from recollect.store.sqlite.sqlite_errors import BUSY_MS, database_errors
from recollect.store.sqlite.write_marks import WriteMarks

UPKEEP_BUSY_MS = 2_000
CACHE_KB = 16_000  # the largest cache of a connection
EMBEDDER_KEYS = ("embedder", "dimension")  # the settings that describe the bank's vectors

_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
    # A commit that was acknowledged survives a power cut.
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    f"PRAGMA cache_size = -{CACHE_KB}",
    # Folding the log into the file after every 4 MB would double the bytes that a batch writes.
    "PRAGMA wal_autocheckpoint = 8000",
    "CREATE TEMP TABLE doomed (seq INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE possible (seq INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE doomed_fact (item INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE doomed_item (item INTEGER PRIMARY KEY)",
)


class Database:
    """The database of a bank. ``path`` is ``None`` for a database in memory.

    Its connections can be closed while they are not in use (:meth:`release`). The next use opens them again.

    Args:
        path: the file.
        create: create the file if it does not exist.
        on_use: a function that is called after each use, in the thread of the use.

    Raises:
        BankNotFound: the file does not exist, and ``create`` is false.
        StoreUnavailable: the folder or the file cannot be opened or written.
        NotABank: the file is something else, or it is damaged.
        NewerSchema: the file was written by a later version of recollect.
    """

    def __init__(self, path: Path | None, *, create: bool = True, on_use: Callable[[], None] | None = None) -> None:
        self.path = path
        self.on_use = on_use
        self.marks = WriteMarks(path)
        self._idle: list[sqlite3.Connection] = []
        self._state_lock = threading.RLock()  # locked while the bank is opened, so that other threads wait for that
        self._write_lock = threading.RLock()
        self._uses = 0
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        self._mark: int | None = None  # a random number in the file, by which the bank is recognized
        # The names of the bank and of its log, and the files that were opened under these names.
        self._names = () if path is None else tuple(f"{path.absolute()}{suffix}" for suffix in ("", "-wal"))
        self._files: tuple[FileId | None, ...] = ()
        self._home = HomeProcess()
        self._home.require()
        with FORK_GATE.use_connection():
            self._open(create=create)
        FORK_GATE.add(self)

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the one connection that writes, in a transaction.

        It is committed at the end, or rolled back after an error.

        Raises:
            BankNotFound: another process has erased or replaced the bank, even after the transaction was committed.
                What was written is lost.
        """
        with self._used() as writer, self._write_lock, database_errors(self.path), self._acknowledged(writer):
            yield writer

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for reading, in one snapshot.

        Raises:
            BankNotFound: another process has erased or replaced the bank.
        """
        with self._used() as writer:
            if self.path is None:
                with self._write_lock, database_errors(self.path):
                    yield writer
                return
            with database_errors(self.path):
                connection = self._borrow()
                try:
                    connection.execute("BEGIN")
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    self._give_back(connection)

    @contextmanager
    def exclusive_connection(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection outside any transaction, for maintenance of the file.

        All idle readers are closed.
        """
        with self._used() as writer, self._write_lock, database_errors(self.path):
            self.close_idle()
            # Other processes cannot write while this one waits for their readers.
            writer.execute(f"PRAGMA busy_timeout = {UPKEEP_BUSY_MS}")
            try:
                yield writer
            finally:
                writer.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    @contextmanager
    def attached_transaction(self, other: Path) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection, in a transaction, with the file of another bank under the name ``attached``."""
        with self._used() as writer, self._write_lock, database_errors(self.path):
            writer.execute("ATTACH ? AS attached", (str(other),))
            try:
                with self._acknowledged(writer):
                    yield writer
            finally:
                writer.execute("DETACH attached")

    @property
    def idle(self) -> int:
        """Return the number of open connections for reading that are not in use."""
        return len(self._idle)

    @property
    def has_idle_reader(self) -> bool:
        """Return true if a short reading can begin without opening a file and without waiting for a write."""
        return self.path is not None and self._writer is not None and bool(self._idle)

    @property
    def cached_bytes(self) -> int:
        """Return the largest amount of memory that the open connections may take."""
        if self.path is None or self._writer is None:
            return 0
        try:
            size = self.path.stat().st_size
        except OSError:
            size = 0
        return (1 + self.idle) * min(size, CACHE_KB * 1024)

    def is_gone(self) -> bool:
        """Return true if another process has erased or replaced the bank, or removed its log."""
        try:
            with self._used():
                self._require_log()
                return False
        except (BankNotFound, StoreUnavailable):
            return True

    def release(self) -> bool:
        """Close all connections until the bank is used again. Return true if none is open then.

        A bank that is in use stays open. A bank in memory stays open too, because it would be lost.
        """
        if self.path is None or not self._state_lock.acquire(blocking=False):
            return False
        try:
            if self._uses:
                return False
            self._close_all()
            return True
        finally:
            self._state_lock.release()

    def close_connections(self) -> None:
        """Close all connections before a fork, unless one is in use. A bank in memory has no locks to lose."""
        if self.path is not None:
            with self._state_lock:
                if not self._uses:
                    self._close_all()

    @property
    def open_files(self) -> tuple[FileId | None, ...]:
        return self._files

    @property
    def open_connections(self) -> list[sqlite3.Connection]:
        return self._idle if self._writer is None else [self._writer, *self._idle]

    def write_unsynced(self) -> None:
        """Let writes no longer wait for the disk, until the connection is closed. A power cut may damage the file."""
        with self._used() as writer, self._write_lock:
            writer.execute("PRAGMA synchronous = OFF")

    def close_idle(self) -> None:
        """Close the connections for reading that are not in use."""
        with self._state_lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def close(self) -> None:
        """Close the bank for good, after the current write has ended. In a forked process, do nothing."""
        if self._home.is_elsewhere:
            return
        with self._write_lock, self._state_lock:
            self._closed = True
            self._close_all()

    @contextmanager
    def _acknowledged(self, writer: sqlite3.Connection) -> Iterator[None]:
        """Run a transaction, and record that it was acknowledged.

        Raises:
            BankNotFound: another process has erased or replaced the bank. What was written is lost.
            StoreUnavailable: somebody has removed the bank's log. What was written may be lost.
        """
        with hold_transaction(writer):
            yield
            version = self.marks.end_write(writer)
        self._require_named()
        self._require_log()
        self.marks.acknowledge(writer, version)

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection and count the bank as in use, so that nobody releases it."""
        self._home.require()
        with FORK_GATE.use_connection():
            with self._state_lock:
                if self._closed:
                    raise StoreError("the bank is closed")
                writer = self._writer or self._open(create=False)
                self._require_named()
                self._uses += 1
            try:
                yield writer
            finally:
                with self._state_lock:
                    self._uses -= 1
        if self.on_use is not None:
            self.on_use()

    def _open(self, *, create: bool) -> sqlite3.Connection:
        """Open the connection that writes, and run the migrations of the file.

        Raises:
            BankNotFound: the file does not exist and ``create`` is false, or it is another bank than before.
        """
        before = _identify(self._names[0]) if self._names else None
        FORK_GATE.require_not_inherited(before)
        if self.path is not None:
            begin_use(self.path)
        try:
            with database_errors(self.path):
                marks = self.marks.look()
                writer = self._connect(create=create)
                try:
                    migrate(writer, self.path)
                    self._recognize(writer, before)
                    self.marks.check(writer, marks)
                except BaseException:
                    writer.close()
                    raise
        except BaseException:
            if self.path is not None:
                end_use(self.path)
            raise
        self._writer = writer
        return writer

    def _recognize(self, writer: sqlite3.Connection, before: FileId | None) -> None:
        """Remember which bank and which files were opened. ``before`` is the file that had the name just before that.

        Raises:
            BankNotFound: another process has replaced the bank since it was open here.
        """
        (mark,) = writer.execute("PRAGMA user_version").fetchone()
        files = tuple(map(_identify, self._names))
        if self._mark not in (None, mark) or (before is not None and files[0] != before):
            raise self._make_error()
        self._mark, self._files = mark, files

    def _require_named(self) -> None:
        """Raise an error if the open file no longer has the name of the bank.

        SQLite goes on writing into a file that was erased or replaced, and all of that is lost.

        Raises:
            BankNotFound: another process has erased or replaced the bank.
        """
        if self.path is not None and _identify(self._names[0]) != self._files[0]:
            raise self._make_error()

    def _require_log(self) -> None:
        """Raise an error if the open log no longer has its name. What is written to it is lost.

        Raises:
            StoreUnavailable: somebody has removed the bank's log.
        """
        if self.path is None:
            return
        log = _identify(self._names[1])
        if self._files[1] is None:  # SQLite has made the log since the bank was opened
            self._files = (self._files[0], log)
        elif log != self._files[1]:
            raise StoreUnavailable(
                f"{self.path}-wal was removed while the bank was in use, so the last writes may be lost. Open the bank "
                "again"
            )

    def _make_error(self) -> BankNotFound:
        return BankNotFound(
            f"{self.path} was erased or replaced by another process while it was in use. Open the bank again"
        )

    def _connect(self, *, create: bool = False) -> sqlite3.Connection:
        """Connect to the file.

        Without ``create`` the file must exist, because an erased bank must not come back empty.
        """
        if self.path is not None and not create and not self.path.exists():
            raise self._make_error()
        mode = "rwc" if create else "rw"
        target = ":memory:" if self.path is None else f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(
            target, isolation_level=None, check_same_thread=False, cached_statements=256, uri=self.path is not None
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _borrow(self) -> sqlite3.Connection:
        with self._state_lock:
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        try:
            self._require_named()  # the connection has the same file as the others
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._state_lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _close_all(self) -> None:
        self.close_idle()
        if self._writer is None:
            return
        self.marks.close(self._writer)
        self._writer.close()
        self._writer, self._files = None, ()
        if self.path is not None:
            end_use(self.path)


def _identify(path: str) -> FileId | None:
    """Return which file has a name now, or ``None`` if there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def read_embedder(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Return the embedder and the length of the bank's vectors, or ``None`` while the bank is being created."""
    rows = dict(connection.execute(get_query("embedder")).fetchall())
    return (rows["embedder"], int(rows["dimension"])) if len(rows) == 2 else None


def record_embedder(connection: sqlite3.Connection, embedder: str, dimension: int) -> None:
    """Record the embedder and the length of the bank's vectors."""
    for key, value in zip(EMBEDDER_KEYS, (embedder, str(dimension)), strict=True):
        connection.execute(get_query("set_setting"), {"key": key, "value": value})


def read_state(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the bank's version and epoch."""
    version, epoch = connection.execute(get_query("state")).fetchone()
    return version, epoch
