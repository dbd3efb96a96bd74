"""Copy a bank to a file and back with SQLite's online backup, while others read and write the bank."""

from __future__ import annotations

import glob
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from recollect.domain.receipts import BackupReceipt
from recollect.errors import BankExists, InvalidInput, NotABank
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.files import file_errors, find_damage, move_to_new_name
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.schema import APPLICATION_ID

_PAGES = 4_000  # copied at a time. Other threads of this process run in between


def back_up(database: Database, name: str, target: Path) -> BackupReceipt:
    """Copy a bank, as it is at one moment, to a new file, and check the copy.

    Raises:
        BankExists: the file exists. It is unchanged.
        NotABank: the bank is damaged. There is no backup.
        StoreUnavailable: the file cannot be written.
    """
    began = time.perf_counter()
    _require_new(target)
    with file_errors(target), _open_part(target) as (copy, part):
        with database.read_transaction() as source, file_errors(target):
            counts = _count(source)
            source.backup(copy, pages=_PAGES)
        copy.execute("PRAGMA journal_mode = DELETE")  # a backup is one file, and can be read from a read-only disk
        copy.execute(get_query("mark_backup"), (name,))
        damage = find_damage(copy)
        if damage or _count(copy) != counts:
            raise NotABank(f"bank {name!r} is damaged, so no backup was made: {damage or 'rows are missing'}")
        copy.close()
        try:
            move_to_new_name(part, target)
        except FileExistsError:
            _require_new(target)
            raise
    messages, items = counts
    return BackupReceipt(
        bank=name,
        file=str(target),
        messages=messages,
        items=items,
        size_bytes=target.stat().st_size,
        seconds=time.perf_counter() - began,
    )


def copy_backup(file: Path, target: Path) -> None:
    """Copy a backup, or a bank that nobody uses, to a new file of a bank, and check the copy.

    Raises:
        InvalidInput: there is no such file.
        NotABank: the file is not a bank, or it is damaged.
        StoreUnavailable: the copy cannot be written.
    """
    with _open_backup(file) as source, file_errors(file), closing(sqlite3.connect(target)) as copy:
        source.backup(copy, pages=_PAGES)
        if _has_log(file):  # nothing is missing, and the copy need not be suspected
            with suppress(sqlite3.OperationalError), copy:  # a bank of an earlier version has no such mark
                copy.execute(get_query("mark_closed"))
        damage = find_damage(copy)
    if damage:
        raise NotABank(f"{file} is damaged: {damage}")


def read_backup_name(file: Path) -> str:
    """Return the name of the bank of a backup, or an empty text for a file that was not made by a backup.

    Raises:
        InvalidInput: there is no such file.
        NotABank: the file is not a bank.
    """
    with _open_backup(file) as source:
        if not source.execute(get_query("has_file_state")).fetchone()[0]:  # a bank of an earlier version
            return ""
        name: str = source.execute(get_query("backup_name")).fetchone()[0]
        return name


@contextmanager
def _open_backup(file: Path) -> Iterator[sqlite3.Connection]:
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    # Without a log beside it, the file is all there is, and nothing needs to be written next to it.
    alone = "" if _has_log(file) else "&immutable=1"
    target = f"{file.absolute().as_uri()}?mode=ro{alone}"
    with file_errors(file), closing(sqlite3.connect(target, uri=True)) as source:
        if source.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise NotABank(f"{file} is not a bank of recollect")
        yield source


def _has_log(file: Path) -> bool:
    return file.with_name(f"{file.name}-wal").exists()


@contextmanager
def _open_part(target: Path) -> Iterator[tuple[sqlite3.Connection, Path]]:
    """Yield a connection to a new file next to the target, and its path.

    The file is locked, so that nobody takes it for one that a killed process has left. Such files are removed first.
    """
    for abandoned in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        if not _is_locked(abandoned):
            _remove(abandoned)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            copy.execute("PRAGMA locking_mode = EXCLUSIVE")
            copy.execute("BEGIN EXCLUSIVE")
            copy.execute("COMMIT")
            yield copy, part
    finally:
        _remove(part)


def _is_locked(part: Path) -> bool:
    with closing(sqlite3.connect(part, isolation_level=None, timeout=0)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return True
        except sqlite3.DatabaseError:  # half of a file
            return False
    return False


def _remove(part: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        part.with_name(part.name + suffix).unlink(missing_ok=True)


def _require_new(target: Path) -> None:
    if os.path.lexists(target):
        raise BankExists(f"{target} exists, and is not replaced. Choose another name, or remove it")


def _count(connection: sqlite3.Connection) -> tuple[int, int]:
    messages, items = connection.execute(get_query("backup_counts")).fetchone()
    return messages, items
