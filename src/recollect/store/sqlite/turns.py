"""The order in which processes write to a bank: locks in a file that the system releases when a process ends.

SQLite has a lock of its own, and no order: whoever asks at the right moment gets it, so a process that writes all the
time can keep the others away for ever. Here a writer first takes the place at the head of the line, and then waits
for the turn. The writer that ends its turn must go to the end of the line if it wants another one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # Windows: processes are not ordered there. A write that lost tries again.
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

TURNS_FILE: Final = ".recollect.turns"
"""The file in a folder of banks whose bytes are locked: two for each bank, beyond its end. The file is always empty."""

LONGEST_WAIT_S = 2.0
"""The time after which a writer goes on without the turn. A turn usually takes some milliseconds."""

_LONGEST_PAUSE_S: Final = 0.010
_SHORTEST_PAUSE_S: Final = 0.001
_PATIENCE_S: Final = 0.1  # after so long a wait the pauses are half as long

_HEAD, _TURN = 0, 1


class LockFile:
    """Locks bytes of a file, without waiting. The file is open as long as a byte is locked.

    There is one object for a file in a process, because the system does not distinguish the holders within a process,
    and releases all their locks when one of them closes the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._held: set[int] = set()
        self._lock = threading.Lock()

    def try_lock(self, place: int) -> bool:
        """Lock one byte. Return false if another holder has locked it."""
        with self._lock:
            if place in self._held:
                return False
            try:
                if self._file is None:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError) as exc:  # some systems say the latter
                if self._file is not None:
                    self._close_unused()
                    return False
                _log.debug("the processes that write %s have no order: %s", self._path.parent, exc)
            except OSError as exc:  # a folder that cannot be written, or a file system without locks
                _log.debug("the processes that write %s have no order: %s", self._path.parent, exc)
            self._held.add(place)
            return True

    def unlock(self, place: int) -> None:
        """Release one byte."""
        with self._lock:
            self._held.discard(place)
            if self._file is not None:
                with suppress(OSError):
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
                self._close_unused()

    def _close_unused(self) -> None:
        if not self._held and self._file is not None:
            os.close(self._file)
            self._file = None


@asynccontextmanager
async def hold_turn(bank: Path) -> AsyncIterator[None]:
    """Wait until it is the turn of a writer of this bank among all processes, and hold it.

    Nobody waits long: a process that was stopped in its turn must not stop the others. A write needs no turn to be
    right. If the folder cannot be written, or the system has no locks, every writer has its turn at once.
    """
    if fcntl is None:
        yield
        return
    file = find_lock_file(bank.parent.absolute() / TURNS_FILE, os.getpid())
    head, turn = _find_places(bank.name)
    began = time.monotonic()
    has_turn = False
    if await _lock_when_free(file, head, began):
        try:
            has_turn = await _lock_when_free(file, turn, began)
        finally:
            file.unlock(head)
    try:
        yield
    finally:
        if has_turn:
            file.unlock(turn)


async def _lock_when_free(file: LockFile, place: int, began: float) -> bool:
    """Lock a byte as soon as it is free. Who has waited longer looks more often. Return false if it took too long."""
    while not file.try_lock(place):
        waited = time.monotonic() - began
        if waited > LONGEST_WAIT_S:
            return False
        await asyncio.sleep(random.uniform(0.5, 1) * _compute_pause_s(waited))
    return True


def _compute_pause_s(waited_s: float) -> float:
    return max(_LONGEST_PAUSE_S / (1 + waited_s / _PATIENCE_S), _SHORTEST_PAUSE_S)


def _find_places(name: str) -> tuple[int, int]:
    """Return the two bytes of a bank. Banks with the same bytes only wait for each other."""
    place = 2 * zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return place + _HEAD, place + _TURN


@cache
def find_lock_file(path: Path, process: int) -> LockFile:
    """Return the one object for a file in a process. A forked process has none of the locks of its parent."""
    return LockFile(path)
