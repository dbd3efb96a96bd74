"""Folders in which banks are made before they get their names. No other process can open such a bank."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from contextlib import ExitStack, suppress
from pathlib import Path

from recollect.store.sqlite.files import LOCK_FILE, file_errors, hold_lock

STAGING = ".recollect.staging"
"""The folder beside the banks that contains a folder for each bank that is being made."""

_ALIVE = "lock"  # a file that is locked as long as the process that makes the bank lives


class StagingFolder:
    """A new folder for a bank that is being made. Close it to remove it with everything that is still in it.

    The folders of processes that were killed are removed first.

    Args:
        store: the folder of the banks.

    Raises:
        StoreUnavailable: the folder cannot be created.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self.path = store / STAGING / uuid.uuid4().hex
        self._lock = ExitStack()
        with file_errors(self.path), hold_lock(store / LOCK_FILE):
            _remove_abandoned(store)
            self.path.mkdir(parents=True)
            self._lock.enter_context(hold_lock(self.path / _ALIVE, long=True))

    def close(self) -> None:
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError, sqlite3.Error), hold_lock(self._store / LOCK_FILE):
            self.path.parent.rmdir()  # fails if another bank is being made there


def sweep_staging(store: Path) -> None:
    """Remove the unfinished banks that killed processes have left, because they contain what was said."""
    if (store / STAGING).exists():
        with file_errors(store), hold_lock(store / LOCK_FILE):
            _remove_abandoned(store)


def _remove_abandoned(store: Path) -> None:
    parent = store / STAGING
    for folder in parent.iterdir() if parent.exists() else ():
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # it is not empty, or there is none
        parent.rmdir()


def _is_abandoned(folder: Path) -> bool:
    try:
        with hold_lock(folder / _ALIVE, timeout_s=0):
            return True
    except sqlite3.OperationalError as exc:
        return exc.sqlite_errorcode not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
