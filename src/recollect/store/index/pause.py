"""Let the event loop run while a thread works long in small steps.

Python's lock passes to another thread after five milliseconds, unless the thread that holds it releases and takes it
again many times in that time. SQLite's module does so at each row. Other threads hardly get the lock while thousands of
rows are read. A thread that sleeps for a moment is certain to release it.
"""

from __future__ import annotations

import time
from typing import Final

_WORK_S: Final = 0.004
_SLEEP_S: Final = 0.0002


class Pauses:
    """Sleeps for a moment if the thread has worked for some milliseconds since its last sleep."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def take(self) -> None:
        """Sleep if it is time to do so. Call this between two short steps."""
        if time.perf_counter() - self._since > _WORK_S:
            time.sleep(_SLEEP_S)
            self._since = time.perf_counter()
