"""Backups of banks: what a place for banks may offer besides :class:`~recollect.store.stores.Stores`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from recollect.domain.receipts import BackupReceipt
from recollect.errors import MissingCapability
from recollect.store.stores import Stores


@runtime_checkable
class BackupStores(Stores, Protocol):
    """A place for banks that copies a bank to a file and back, while others use it."""

    async def backup(self, name: str, file: Path) -> BackupReceipt:
        """Copy a bank, as it is at one moment, to a new file. The file appears when it is complete and checked.

        Raises:
            BankNotFound: there is no bank of this name.
            BankExists: the file exists.
            NotABank: the bank is damaged.
            StoreUnavailable: the file cannot be written.
        """
        ...

    async def restore(self, file: Path, name: str | None) -> str:
        """Make a new bank from a backup, and return its name. Without a name, the bank gets the name that it had.

        Raises:
            BankExists: there is a bank of this name.
            BadBankName, BankNameTaken: the bank cannot have this name.
            InvalidInput: there is no such file, or the file does not know a name and none was given.
            NotABank, NewerSchema: the file is not a bank, or it is damaged, or from a later version.
            StoreUnavailable: the bank cannot be stored.
        """
        ...


def require_backups(stores: Stores) -> BackupStores:
    """Return the stores as stores that make backups.

    Raises:
        MissingCapability: the stores make no backups.
    """
    if not isinstance(stores, BackupStores):
        raise MissingCapability("this store makes no backups. Use export and import, or the tools of its database")
    return stores
