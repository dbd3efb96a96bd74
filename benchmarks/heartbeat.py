"""Measure stalls of the event loop: a task wants to run every few milliseconds, and notes the delays."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import TracebackType
from typing import Self

INTERVAL_S = 0.005
_TASKS = Path("/proc/self/task")


class Heartbeat:
    """Measures stalls of the event loop until the context ends.

    ``longest_s`` is the longest delay of a beat. ``longest_own_s`` excludes the time in which threads of this process
    were ready to run, but the machine ran other programs. On a busy machine that is most of the delay. Both values are
    the same on a system that does not report this time (Linux reports it).
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.longest_own_s = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)  # lets the task start
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.sleep(INTERVAL_S)  # the next beat sees a stall right before the end
        self._task.cancel()

    async def _beat(self) -> None:
        last, waited = time.perf_counter(), seconds_in_queue()
        while True:
            await asyncio.sleep(INTERVAL_S)
            now, queued = time.perf_counter(), seconds_in_queue()
            late = now - last - INTERVAL_S
            self.longest_s = max(self.longest_s, late)
            self.longest_own_s = max(self.longest_own_s, late - max(0.0, queued - waited))
            last, waited = time.perf_counter(), queued


def seconds_in_queue() -> float:
    """Return the time for which threads of this process were ready to run and waited for a processor, as a sum over
    threads.
    """
    total = 0
    try:
        for task in _TASKS.iterdir():
            total += int((task / "schedstat").read_text("ascii").split()[1])
    except (OSError, IndexError, ValueError):  # not Linux, or a thread ended just now
        return 0.0
    return total / 1e9
