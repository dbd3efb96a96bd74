"""Look at the jobs of many banks without opening them: read only the files that have changed since the last look."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from recollect.domain.time import to_micros
from recollect.store.sqlite.forking import FORK_GATE
from recollect.store.sqlite.named_queries import get_query


@dataclass(frozen=True, slots=True)
class ClaimTimes:
    """The times at which a job of a kind can be claimed, in microseconds since 1970.

    A job can be claimed from ``since`` on. If a job is running, it can also be claimed before ``before``: only a clock
    that was set back since its lease was given can show such a time.
    """

    since: int
    before: int | None = None

    def include(self, moment: int) -> bool:
        """Return true if a job can be claimed at a moment."""
        return self.since <= moment or (self.before is not None and moment < self.before)


JobTimes = Mapping[str, ClaimTimes]
"""The times at which a job can be claimed, for each kind of job of a bank."""

Signature = tuple[tuple[int, int, int] | None, ...]

SETTLED_NS = 3_000_000_000
"""The age from which the time of a file can be trusted.

File systems count time in steps of up to two seconds. A file with a more recent time may have been written again since
it was read, and still look the same.
"""
BUSY_S = 2.0


class JobsPeek:
    """Remembers what it has read of each bank, and reads a bank again if its files have changed.

    So it needs no help from writers. It also finds a bank that was copied into the folder, and a bank whose writer was
    killed. It is safe for threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[Path, tuple[Signature, JobTimes]] = {}

    def job_times(self, files: Mapping[str, Path]) -> dict[str, JobTimes | None]:
        """Return the times of each bank's jobs, or ``None`` for a bank that cannot be read."""
        with self._lock:
            return {name: self._times(file) for name, file in files.items()}

    def _times(self, file: Path) -> JobTimes | None:
        began = time.time_ns()
        file = Path(os.path.realpath(file)) if file.is_symlink() else file  # the log is next to the file itself
        signature = tuple(_stated(path) for path in (file, file.with_name(file.name + "-wal")))
        seen = self._seen.pop(file, None)
        if seen is None or seen[0] != signature:
            times = _read_times(file)
            if times is None:
                return None
            seen = signature, times
        if _is_settled(signature, began):
            self._seen[file] = seen
        return seen[1]


def read_job_times(connection: sqlite3.Connection) -> JobTimes:
    """Return the times of a bank's jobs."""
    rows = connection.execute(get_query("job_times"))
    return {kind: ClaimTimes(since, before) for kind, since, before in rows}


def due_banks(banks: Mapping[str, JobTimes | None], until: datetime | None, kinds: Collection[str]) -> tuple[str, ...]:
    """Return the banks with a job of these kinds, or of any kind, that is due by ``until``.

    Unreadable banks come last.
    """
    latest = None if until is None else to_micros(until)
    due: dict[str, int] = {}
    for name, all_times in banks.items():
        wanted = [times for kind, times in (all_times or {}).items() if not kinds or kind in kinds]
        claimable = [times.since for times in wanted if latest is None or times.include(latest)]
        if claimable:
            due[name] = min(claimable)
    unreadable = sorted(name for name, times in banks.items() if times is None)
    return (*sorted(due, key=lambda name: (due[name], name)), *unreadable)


def _stated(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _is_settled(signature: Signature, now_ns: int) -> bool:
    """Return true if every write from now on changes the signature."""
    return all(one is None or one[1] < now_ns - SETTLED_NS for one in signature)


def _read_times(file: Path) -> JobTimes | None:
    try:
        target = f"{file.absolute().as_uri()}?mode=rw"  # a missing file must not be created
        with (
            FORK_GATE.use_connection(),
            closing(sqlite3.connect(target, isolation_level=None, timeout=BUSY_S, uri=True)) as connection,
        ):
            return read_job_times(connection)
    except (sqlite3.Error, UnicodeDecodeError):
        return None
