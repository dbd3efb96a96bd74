"""Read a database's file as bytes, without SQLite, and keep SQLite's locks on it.

On POSIX systems, a process that closes any descriptor of a file loses all its locks on that file. SQLite's locks are of
this kind. So a descriptor that was opened to read the bytes of a database is closed only when no connection of this
process has the database open. Otherwise another process would take the database for unused. It would cut the file or
remove the log while connections of this process read and write them, and acknowledged writes would be lost.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_lock = threading.Lock()
_uses: Counter[Path] = Counter()  # how many databases of this process have the file open
_descriptors: dict[Path, list[int]] = {}  # to be closed when nobody has the file open any more


def begin_use(file: Path) -> None:
    """Note that a database has opened a file. Call this before the first connection is opened."""
    with _lock:
        _uses[file.absolute()] += 1


def end_use(file: Path) -> None:
    """Note that a database has closed all its connections to a file."""
    with _lock:
        _uses[file.absolute()] -= 1
        if _uses[file.absolute()] <= 0:
            del _uses[file.absolute()]
            for descriptor in _descriptors.pop(file.absolute(), ()):
                os.close(descriptor)


@contextmanager
def open_raw(file: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes. If a database has the file open, its descriptor stays open as long.

    Raises:
        FileNotFoundError: there is no such file.
    """
    descriptor = _take_descriptor(file.absolute())
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            opened.seek(0)
            yield opened
    finally:
        _give_back(file.absolute(), descriptor)


def _take_descriptor(file: Path) -> int:
    """Return a descriptor that nobody else uses: one that was kept, if it is still of this file, or a new one."""
    with _lock:
        kept = _descriptors.get(file, [])
        for descriptor in kept:
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                kept.remove(descriptor)
                return descriptor
    return os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))


def _give_back(file: Path, descriptor: int) -> None:
    with _lock:
        if _uses[file] > 0:
            _descriptors.setdefault(file, []).append(descriptor)
        else:
            os.close(descriptor)
