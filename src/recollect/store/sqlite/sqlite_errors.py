"""Turn the errors of SQLite into errors of our tree that say what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import InvalidInput, NotABank, RecollectError, StoreError, StoreUnavailable

BUSY_MS = 30_000

TOO_MANY_FILES = (
    "too many open files: this process has no file descriptors left. Raise the limit (ulimit -n), or allow fewer "
    "open banks at a time (open_banks)"
)
_HINTS = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing of this write was stored, everything before it is safe",
    sqlite3.SQLITE_READONLY: "it cannot be written; check the permissions of the file and the folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that the folder exists and can be written",
    sqlite3.SQLITE_PERM: "access is denied",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full",
    sqlite3.SQLITE_BUSY: f"another process has been writing for {BUSY_MS // 1000} s; try again",
    sqlite3.SQLITE_LOCKED: "another connection has locked it; try again",
}


@contextmanager
def database_errors(path: Path | None) -> Iterator[None]:
    """Translate what SQLite raises about a bank's file.

    Raises:
        StoreError: the file cannot be used. The message says why.
        InvalidInput: a text or a number cannot be stored.
    """
    try:
        yield
    except RecollectError:
        raise
    except sqlite3.Error as exc:
        raise translated(exc, path) from exc
    except UnicodeDecodeError as exc:  # an error of SQLite that quotes damaged bytes
        raise NotABank(f"{path} is not a bank of recollect, or it is damaged ({exc})") from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"{exc.object[max(0, exc.start - 20) : exc.end + 20]!r} has a lone surrogate, which cannot be stored"
        ) from exc
    except OverflowError as exc:
        raise InvalidInput(f"a number is too large to be stored ({exc})") from exc


def translated(exc: sqlite3.Error, path: Path | None) -> StoreError:
    """Return the store error for an error of SQLite about a file."""
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    where = path or "the bank in memory"
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return NotABank(f"{where} is not a bank of recollect, or it is damaged ({exc})")
    hint = TOO_MANY_FILES if code == sqlite3.SQLITE_CANTOPEN and _out_of_files() else _HINTS.get(code)
    if hint:
        return StoreUnavailable(f"{where}: {hint} ({exc})")
    return StoreError(f"{where}: {exc}")


def _out_of_files() -> bool:
    """Return true if this process or the machine has no file descriptors left for a bank's three files."""
    opened: list[int] = []
    try:
        for _ in range(3):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as exc:
        return exc.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False
