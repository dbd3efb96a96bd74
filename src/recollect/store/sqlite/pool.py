"""Which banks of a folder are open: a bounded number, the ones used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

from recollect.store.stores import OpenLimits

MOST_IDLE_READERS = 16
"""Connections to read with that nobody uses are kept open, over all banks of a folder; each has two descriptors."""


class Releasable(Protocol):
    """A bank that can give back what it holds open, and takes it up again when it is used next."""

    @property
    def held_bytes(self) -> int:
        """How much memory its index and caches take, roughly."""
        ...

    @property
    def idle_readers(self) -> int: ...

    def close_idle_readers(self) -> None: ...

    def give_back(self) -> bool:
        """Close everything; return whether nothing is open then. A bank that is in use stays open."""
        ...


class OpenBanks:
    """Keeps the banks of a folder that are open within limits. Safe for threads.

    Args:
        limits: how many, and how much memory.
    """

    def __init__(self, limits: OpenLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._sizes: OrderedDict[Releasable, int] = OrderedDict()  # the one used longest ago first

    def __len__(self) -> int:
        return len(self._sizes)

    def used(self, bank: Releasable) -> None:
        """Note that a bank was used just now, and close others where it is one too many."""
        with self._lock:
            self._sizes[bank] = bank.held_bytes
            self._sizes.move_to_end(bank)
        self._close_readers()
        passed: set[Releasable] = {bank}  # nobody is asked twice, and the one used just now not at all
        while (victim := self._one_too_many(passed)) is not None:
            passed.add(victim)
            if victim.give_back():
                self.forget(victim)

    def forget(self, bank: Releasable) -> None:
        """Note that a bank is closed."""
        with self._lock:
            self._sizes.pop(bank, None)

    def _one_too_many(self, passed: set[Releasable]) -> Releasable | None:
        """Return the bank to close next, if the limits are passed and there is one that can be asked."""
        with self._lock:
            many = len(self._sizes) > self._limits.banks
            if not many and sum(self._sizes.values()) <= self._limits.megabytes * 1_000_000:
                return None
            return next((bank for bank in self._sizes if bank not in passed), None)

    def _close_readers(self) -> None:
        """Close connections that nobody uses, of the banks used longest ago first."""
        with self._lock:
            banks = list(self._sizes)
        surplus = sum(bank.idle_readers for bank in banks) - MOST_IDLE_READERS
        for bank in banks:
            if surplus <= 0:
                return
            surplus -= bank.idle_readers
            bank.close_idle_readers()
