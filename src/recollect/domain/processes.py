"""The process that something belongs to. Connections, threads and locks do not survive a fork."""

from __future__ import annotations

import os

from recollect.errors import OpenedBeforeFork


class HomeProcess:
    """The process in which something was used first. A process that was forked from it later must not use it."""

    def __init__(self) -> None:
        self._number: int | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Return true if it was used in another process before."""
        return self._number not in (None, os.getpid())

    def require(self) -> None:
        """Use it in this process.

        Raises:
            OpenedBeforeFork: it was used in the process from which this one was forked.
        """
        if self._number is None:
            self._number = os.getpid()
        elif self._number != os.getpid():
            raise OpenedBeforeFork(
                f"this memory was used in process {self._number} before process {os.getpid()} was forked from it. Open "
                "a memory in each process, after the fork: with gunicorn --preload in post_fork, or when the first "
                "request comes"
            )
