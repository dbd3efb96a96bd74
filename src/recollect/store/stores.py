"""The interface of a place for banks: what an engine implements besides :class:`~recollect.store.protocol.Store`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.errors import InvalidInput
from recollect.store.protocol import Fill, Store


class Stores(Protocol):
    """The banks of one place: a folder of files, or a database.

    No method may block the event loop. An engine opens, lists and erases banks in threads, or over a connection.
    """

    async def names(self) -> tuple[str, ...]:
        """Return the names of all banks, sorted."""
        ...

    async def open(self, name: str, *, embedder: str, dimension: int, create: bool = True) -> Store:
        """Open a bank.

        The same name returns the same object as long as somebody has a reference to it and it is not closed. A new bank
        records the given embedder. An existing bank keeps its own.

        Raises:
            BadBankName: no bank can have this name.
            BankNameTaken: a bank has this name in another spelling.
            BankNotFound: the bank does not exist, and ``create`` is false.
            StoreError: the bank cannot be used.
        """
        ...

    async def create(self, name: str, *, embedder: str, dimension: int, fill: Fill) -> Store:
        """Create a bank with contents, and return it. It gets its name in one step, when ``fill`` has returned.

        If ``fill`` fails, or if the process is killed at any time, there is no bank. A bank of this name is never
        replaced, even if it was created while ``fill`` was running.

        Raises:
            BadBankName: no bank can have this name.
            BankExists: there is a bank of this name.
            BankNameTaken: a bank has this name in another spelling.
            StoreError: the bank cannot be stored.
        """
        ...

    async def drop(self, name: str) -> None:
        """Erase a bank with everything that was derived from it.

        Raises:
            BankNotFound: the bank does not exist.
            BankNameTaken: a bank has this name in another spelling.
            StoreUnavailable: something could not be erased. The bank still exists.
        """
        ...

    async def banks_with_jobs(
        self, *, until: datetime | None, kinds: Collection[str] = (), banks: Collection[str] | None = None
    ) -> tuple[str, ...]:
        """Return the banks of which a worker could claim a job by ``until``. The bank that is due longest comes first.

        This is a cheap look that opens no bank. It may return too many banks, such as one that cannot be read. It never
        misses a bank, whoever wrote its jobs, and even if that process was killed meanwhile.

        Args:
            until: the moment. ``None`` means any job that is not dead.
            kinds: the kinds of the jobs. If it is empty, jobs of any kind count.
            banks: the banks to look at. ``None`` means all.
        """
        ...

    async def close(self) -> None:
        """Close every bank."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLimits:
    """The limits of what a store holds open at the same time.

    Beyond them it closes the banks that were used longest ago. At most ``banks`` banks are open, and their indexes and
    caches together take at most about ``megabytes``. A bank that is in use stays open. A closed bank is opened again
    when it is used next.

    Raises:
        InvalidInput: a number is out of its range.
    """

    banks: int = 40
    megabytes: int = 1024

    def __post_init__(self) -> None:
        if self.banks < 1 or self.megabytes < 1:
            raise InvalidInput("open_banks and open_megabytes must be at least 1")
