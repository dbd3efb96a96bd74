"""Notice that acknowledged writes are missing from a bank: its log was removed, or its file was copied without it.

The newest writes of a bank are in its log until they are folded into the file. Two marks show that a log is missing:

- The bank's row ``file_state.in_use`` is 1 while programs write, also in the file itself. A file with this 1 and
  without a log was copied while the bank was open.
- A small file beside the bank (``NAME.bank-ack``) contains the bank's id and the version after the last acknowledged
  write. A bank with an older version has lost writes.

The small file is written after each commit, and never waits for the disk. After a power cut it may be older than the
bank, which shows no loss where there is none.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from recollect.store.sqlite.named_queries import get_query

SUFFIX = "-ack"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The contents of the file beside a bank: the bank's id, and its version after the last acknowledged write."""

    id: str
    version: int


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks beside a bank's file before it was opened. ``has_file`` tells an unreadable file from none."""

    has_log: bool
    has_file: bool
    acknowledged: Acknowledged | None


class WriteMarks:
    """The marks of one bank. Only the thread that has the writing connection may use it.

    Args:
        bank: the file of the bank, or ``None`` for a bank in memory, which has no marks.
    """

    def __init__(self, bank: Path | None) -> None:
        self.losses: tuple[str, ...] = ()
        self._bank = bank
        self._id = ""
        self._version = 0  # the last one in the file beside the bank
        self._pending = False  # true while the 1 of in_use may be only in the log

    def look(self) -> Marks | None:
        """Read what is beside the bank. Call it before the bank is opened, because opening creates a log."""
        if self._bank is None:
            return None
        found = self._read()
        return Marks(self._log_path.exists(), self._path.exists(), found)

    def check(self, connection: sqlite3.Connection, marks: Marks | None) -> None:
        """Compare the bank with what was beside it before it was opened, and record what is missing."""
        if marks is None:
            return
        self._id, version, in_use, known = connection.execute(get_query("write_marks")).fetchone()
        loss = self._find_loss(marks, version, bool(in_use))
        if loss and loss not in known.splitlines():
            known = f"{known}\n{loss}".strip()
            _log.warning("%s: %s", self._bank, loss)
            with suppress(sqlite3.Error):  # a bank that cannot be written. The next opening finds the same
                connection.execute(get_query("set_losses"), (known,))
        self.losses = tuple(known.splitlines())
        self._version = version
        if loss or marks.acknowledged is None or marks.acknowledged.id != self._id:
            self._write(version, create=True)

    def end_write(self, connection: sqlite3.Connection) -> int:
        """Mark the bank as in use, at the end of a transaction. Return the bank's version."""
        if self._bank is None:
            return 0
        self._pending |= connection.execute(get_query("mark_in_use")).rowcount > 0
        version: int = connection.execute(get_query("state")).fetchone()[0]
        return version

    def acknowledge(self, connection: sqlite3.Connection, version: int) -> None:
        """Record a write that was committed, before its caller learns of it."""
        if self._bank is None:
            return
        if self._pending:
            with suppress(sqlite3.Error):  # the write is stored all the same, and the next one tries again
                _, frames, folded = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                self._pending = folded < frames  # true if a reader needs the older state
        if version > self._version:
            self._write(version)

    def close(self, connection: sqlite3.Connection) -> None:
        """Mark the bank as not in use, before its last connection in this process is closed.

        Another process that has the bank open marks it again with its next write.
        """
        if self._bank is None:
            return
        with suppress(sqlite3.Error):  # another process is writing, and closes it later
            connection.execute("PRAGMA busy_timeout = 0")
            if connection.execute(get_query("write_marks")).fetchone()[2]:
                connection.execute(get_query("mark_closed"))

    def accept_losses(self, connection: sqlite3.Connection) -> None:
        """Forget what is missing, in the caller's transaction."""
        connection.execute(get_query("set_losses"), ("",))
        self.losses = ()

    def _find_loss(self, marks: Marks, version: int, in_use: bool) -> str | None:
        acknowledged = marks.acknowledged
        if acknowledged is not None and acknowledged.id == self._id:
            lost = acknowledged.version - version
            return (
                f"{lost:,} acknowledged {'write is' if lost == 1 else 'writes are'} missing: the log of the bank was "
                "removed, or its file was replaced by an older one"
                if lost > 0
                else None
            )
        if not in_use or marks.has_log or (marks.has_file and acknowledged is None):
            return None
        now = self._read()
        if now is not None and now.id == self._id:  # another program has opened the bank meanwhile
            return None
        return (
            "the newest writes may be missing: the file was copied while a program had the bank open, or after a "
            "program was killed, and its log was not copied with it"
        )

    @property
    def _path(self) -> Path:
        assert self._bank is not None
        return self._bank.with_name(self._bank.name + SUFFIX)

    @property
    def _log_path(self) -> Path:
        assert self._bank is not None
        return self._bank.with_name(self._bank.name + "-wal")

    def _read(self) -> Acknowledged | None:
        try:
            id_, version = self._path.read_text("ascii").split()
            return Acknowledged(id_, int(version))
        except (OSError, ValueError):
            return None

    def _write(self, version: int, *, create: bool = False) -> None:
        """Write the version in place, without waiting for the disk. A file that was removed is not made again."""
        flags = os.O_WRONLY | (os.O_CREAT if create else 0)
        with suppress(OSError):
            descriptor = os.open(self._path, flags, 0o644)
            try:
                os.write(descriptor, f"{self._id} {version:020d}\n".encode())
            finally:
                os.close(descriptor)
        self._version = version
