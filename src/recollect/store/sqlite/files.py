"""The files of banks: locks between processes, moves that never overwrite, and the errors of the file system."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from recollect.errors import NotABank, StoreUnavailable
from recollect.store.sqlite.forking import FORK_GATE
from recollect.store.sqlite.sqlite_errors import BUSY_MS, TOO_MANY_FILES, translated

LOCK_FILE = ".recollect.lock"
"""The file that is locked while a bank gets its name, so that two processes do not create two banks of the same name.

The file is always empty.
"""


@contextmanager
def hold_lock(file: Path, *, timeout_s: float = BUSY_MS / 1000, long: bool = False) -> Iterator[None]:
    """Hold a lock that all processes respect. The lock ends with the process that holds it.

    A fork of this process waits until the lock is free, unless it is held for ``long``.

    Raises:
        sqlite3.OperationalError: another process held the lock until the timeout.
    """
    with (
        nullcontext() if long else FORK_GATE.use_connection(),
        closing(sqlite3.connect(file, isolation_level=None, timeout=timeout_s, check_same_thread=False)) as connection,
    ):
        connection.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Translate the errors of the file system.

    Raises:
        StoreUnavailable: the file system refused something. The message says what.
    """
    try:
        yield
    except sqlite3.Error as exc:
        raise translated(exc, path) from exc
    except OSError as exc:
        out = exc.errno in (errno.EMFILE, errno.ENFILE)
        raise StoreUnavailable(f"{path}: {TOO_MANY_FILES if out else exc.strerror}") from exc


def move_to_new_name(source: Path, target: Path) -> None:
    """Give a file a new name in one step. An existing file is never replaced.

    First the file is written to the disk, so that it is whole under its new name even after a power cut. It must be
    closed. On a file system without hard links, the caller must make sure that nobody else makes a file of this name.

    Raises:
        FileExistsError: there is a file of this name.
    """
    with source.open("rb+") as opened:
        os.fsync(opened.fileno())
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # such as FAT, which has no links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        os.rename(source, target)
    else:
        source.unlink()
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk. Some systems cannot do this, and need not."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_integrity(file: Path) -> None:
    """Read a whole database, and raise an error if it is damaged.

    Raises:
        NotABank: the file is damaged.
    """
    with file_errors(file), closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        damage = find_damage(connection)
    if damage:
        raise NotABank(f"{file} is damaged: {damage}")


def find_damage(connection: sqlite3.Connection) -> str | None:
    """Read a whole database, and return the first damage that is found, in words."""
    problems = [line for (line,) in connection.execute("PRAGMA integrity_check(3)") if line != "ok"]
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    problems += [f"a row of {table} refers to nothing" for table, *_ in broken]
    return problems[0] if problems else None
