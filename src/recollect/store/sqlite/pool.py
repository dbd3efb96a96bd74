"""The open banks of a folder: a limited number, those that were used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

from recollect.store.stores import OpenLimits

MOST_IDLE_READERS = 16
"""The largest number of idle connections for reading that stay open, over all banks of a folder.

Each connection takes two file descriptors.
"""


class Releasable(Protocol):
    """A bank that can release what it holds open, and opens it again when it is used next."""

    @property
    def extent(self) -> tuple[int, int]:
        """Return the rows of its index and the number of its connections. ``held_bytes`` changes with these."""
        ...

    @property
    def held_bytes(self) -> int:
        """Return the approximate amount of memory that its index and caches take."""
        ...

    @property
    def idle_readers(self) -> int: ...

    def close_idle_readers(self) -> None: ...

    def give_back(self) -> bool:
        """Close everything. Return true if nothing is open then. A bank that is in use stays open."""
        ...


class OpenBanks:
    """Keeps the open banks of a folder within limits. It is safe for threads.

    Args:
        limits: the largest number of open banks, and the largest amount of memory.
    """

    def __init__(self, limits: OpenLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._last: tuple[Releasable, tuple[int, int]] | None = None  # the bank used last, as it was then
        self._sizes: OrderedDict[Releasable, int] = OrderedDict()  # the bank that was used longest ago comes first

    def __len__(self) -> int:
        return len(self._sizes)

    def used(self, bank: Releasable) -> None:
        """Record that a bank was used just now. Close other banks if the limits are exceeded."""
        extent = bank.extent
        if self._last == (bank, extent):
            return
        with self._lock:
            self._last = bank, extent
            self._sizes[bank] = bank.held_bytes
            self._sizes.move_to_end(bank)
        self._close_readers()
        passed: set[Releasable] = {bank}  # no bank is asked twice, and this one is not asked
        while (victim := self._one_too_many(passed)) is not None:
            passed.add(victim)
            if victim.give_back():
                self.forget(victim)

    def forget(self, bank: Releasable) -> None:
        """Record that a bank is closed."""
        with self._lock:
            self._sizes.pop(bank, None)
            self._last = None

    def _one_too_many(self, passed: set[Releasable]) -> Releasable | None:
        """Return the bank to close next, if the limits are exceeded and a bank is left that was not asked yet."""
        with self._lock:
            many = len(self._sizes) > self._limits.banks
            if not many and sum(self._sizes.values()) <= self._limits.megabytes * 1_000_000:
                return None
            return next((bank for bank in self._sizes if bank not in passed), None)

    def _close_readers(self) -> None:
        """Close surplus connections that are not in use, first those of the banks that were used longest ago."""
        with self._lock:
            banks = list(self._sizes)
        surplus = sum(bank.idle_readers for bank in banks) - MOST_IDLE_READERS
        for bank in banks:
            if surplus <= 0:
                return
            surplus -= bank.idle_readers
            bank.close_idle_readers()
