"""Erase a bank with all of its files, also if other processes have it open or if this process is killed meanwhile."""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from recollect.errors import NotABank, StoreUnavailable
from recollect.store.index.saved_graph import SavedGraph
from recollect.store.sqlite import write_marks
from recollect.store.sqlite.files import LOCK_FILE, file_errors, hold_lock, sync_folder
from recollect.store.sqlite.schema import APPLICATION_ID
from recollect.store.sqlite.state_folders import erase_states

_BESIDE = ("-wal", "-shm", "-journal", write_marks.SUFFIX)
_MARK = re.compile(r"(?P<bank>.+)\.~[0-9a-f]{8}")  # short: the names of files have a limit, and banks' may be long


def find_graph(bank: Path) -> SavedGraph:
    """Return the place of a bank's graph, whether there is one or not."""
    return SavedGraph(bank.with_suffix(".hnsw"))


def follow_link(bank: Path) -> Path:
    """Return the file of a bank, which is another path if the bank is a symbolic link.

    SQLite puts the log next to the file itself, and so must everything else that belongs to the bank.

    Raises:
        StoreUnavailable: the link leads nowhere.
    """
    if not bank.is_symlink():
        return bank
    try:
        return Path(os.path.realpath(bank, strict=True))
    except OSError as exc:
        raise StoreUnavailable(f"{bank} is a symbolic link that leads nowhere ({exc.strerror})") from exc


def erase_bank(name: str, bank: Path) -> None:
    """Erase a bank. If it is a symbolic link, the file to which it leads is erased too.

    First the file loses its name in one step, so that all other processes that have it open refuse to write. The file
    itself is removed last. If this process is killed meanwhile, :func:`finish_erasing` removes the rest.

    Raises:
        NotABank: the bank is a link to a file that is no bank. Nothing is erased.
        StoreUnavailable: something cannot be removed, or the file has another name (a hard link).
    """
    with file_errors(bank):
        if bank.is_symlink() and not bank.exists():  # there is nothing behind it
            bank.unlink()
            return
        file = follow_link(bank)
        with _hold_locks(bank, file):
            _require_erasable(name, bank, file)
            if left := erase_states(file, remain=False):
                raise StoreUnavailable(f"the bank {name!r} cannot be erased: {left[0]} cannot be removed")
            mark = file.with_name(f"{file.name}.~{uuid.uuid4().hex[:8]}")
            file.rename(mark)
            if bank != file:
                bank.unlink()
            _finish(mark)


def finish_erasing(folder: Path) -> None:
    """Remove what processes that were killed have left of banks that they erased. The folder must be locked."""
    for mark in _list_marks(folder):
        _finish(mark)


def has_unfinished(folder: Path) -> bool:
    """Return true if a process was killed while it erased a bank, or is erasing one now."""
    return any(True for _ in _list_marks(folder))


def remove_derived(bank: Path) -> None:
    """Remove the logs, the mark and the graph of a bank that is no longer there. A new bank must not find them."""
    for suffix in _BESIDE:
        bank.with_name(bank.name + suffix).unlink(missing_ok=True)
    find_graph(bank).remove()


def _finish(mark: Path) -> None:
    match = _MARK.fullmatch(mark.name)
    bank = mark.with_name(match["bank"]) if match else None
    if bank is not None and not os.path.lexists(bank):  # otherwise these are the files of a new bank
        remove_derived(bank)
    mark.unlink(missing_ok=True)
    sync_folder(mark.parent)


def _list_marks(folder: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from [folder / name for name in os.listdir(folder) if _MARK.fullmatch(name)]


def _hold_locks(bank: Path, file: Path) -> ExitStack:
    """Hold the locks of the bank's folder and, if a link leads to another store, of that store.

    While they are held, nobody makes a bank of this name.
    """
    with ExitStack() as entering:
        for folder in sorted({bank.parent.resolve(), file.parent.resolve()}):
            if folder == bank.parent.resolve() or (folder / LOCK_FILE).exists():
                entering.enter_context(hold_lock(folder / LOCK_FILE))
        return entering.pop_all()


def _require_erasable(name: str, bank: Path, file: Path) -> None:
    if file.is_dir():
        raise NotABank(f"{file} is a folder, and not a bank. Nothing was erased")
    if bank != file and not _is_bank(file):
        raise NotABank(f"{bank} is a link to {file}, which is not a bank of recollect. Nothing was erased")
    if (names := file.stat().st_nlink) > 1:
        raise StoreUnavailable(
            f"the bank {name!r} cannot be erased: {file} has {names - 1} more names (hard links), under which its data "
            "would stay. Remove these first"
        )


def _is_bank(file: Path) -> bool:
    target = f"{file.absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(target, uri=True)) as connection:
        return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID)
    return False
