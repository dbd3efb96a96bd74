"""Where banks are kept: what an engine implements beside :class:`~recollect.store.protocol.Store`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.errors import InvalidInput
from recollect.store.protocol import Store


class Stores(Protocol):
    """The banks of one place: a folder of files, or a database.

    Nothing here may hold up the event loop: an engine opens, lists and erases banks in threads, or over a connection.
    """

    async def names(self) -> tuple[str, ...]:
        """Return the names of all banks, sorted."""
        ...

    async def open(self, name: str, *, embedder: str, dimension: int, create: bool = True) -> Store:
        """Open a bank. The same name gives the same object as long as somebody holds it and it is not closed.

        A new bank records the embedder given; one that is there keeps its own.

        Raises:
            BadBankName: no bank can have this name.
            BankNameTaken: a bank has this name in another spelling.
            BankNotFound: there is no such bank, and ``create`` is false.
            StoreError: the bank cannot be used.
        """
        ...

    async def drop(self, name: str) -> None:
        """Erase a bank with everything that was derived from it.

        Raises:
            BankNotFound: there is no such bank.
            BankNameTaken: a bank has this name in another spelling.
            StoreUnavailable: something could not be erased; the bank is still there.
        """
        ...

    async def banks_with_jobs(
        self, *, until: datetime | None, kinds: Collection[str] = (), banks: Collection[str] | None = None
    ) -> tuple[str, ...]:
        """Return the banks of which a worker could claim a job by a moment, the one that is due longest first.

        This is one cheap look: it opens no bank. It may name a bank too much, such as one that cannot be read, and
        never leaves one out, whoever wrote its jobs, and whoever was killed doing so.

        Args:
            until: the moment; ``None`` for any job that is not dead.
            kinds: jobs of these kinds, or of any kind where it is empty.
            banks: only these banks, where it is given.
        """
        ...

    async def close(self) -> None:
        """Close every bank."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLimits:
    """How much a store holds open at a time; past that it closes the banks that were used longest ago.

    ``banks`` are open at most, and their indexes and caches take about ``megabytes`` at most together. A bank that is
    in use stays open; one that was closed is opened again when it is used next.

    Raises:
        InvalidInput: a number is out of its range.
    """

    banks: int = 40
    megabytes: int = 1024

    def __post_init__(self) -> None:
        if self.banks < 1 or self.megabytes < 1:
            raise InvalidInput("open_banks and open_megabytes must be at least 1")
