"""Write changes that were derived from a reading of a bank. Derive them again if another writer was faster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from recollect.domain.changes import Changeset
from recollect.errors import StaleWrite
from recollect.store.protocol import Store, StoreReader

T = TypeVar("T")

Derive = Callable[[StoreReader], Awaitable[Changeset]]
"""A function that derives changes from the bank that it is given.

It is called again if another writer was faster. The function need not track the bank's version. Its caller reads the
version before the function reads anything, and a bank that has changed since then refuses the changes.
"""

ATTEMPTS: Final = 50
FREE_ATTEMPTS: Final = 3
"""The number of attempts during which others may write too. After that, the other writers in this process wait."""

_LONGEST_PAUSE_S: Final = 0.5

# While a task holds a store's lock, no other task of this process can write before it. Without the lock, changes that
# take longer to derive than a message takes to store would never be written while a conversation is imported.
_locks: WeakKeyDictionary[Store, asyncio.Lock] = WeakKeyDictionary()


async def retry_until_current(store: Store, write: Callable[[], Awaitable[T]]) -> T:
    """Call ``write`` again and again until no other writer was faster.

    Raises:
        StaleWrite: writers in other processes were faster each time.
    """
    turn = _locks.setdefault(store, asyncio.Lock())
    for attempt in range(1, FREE_ATTEMPTS + 1):
        if turn.locked():
            async with turn:
                pass
        try:
            return await write()
        except StaleWrite:
            await asyncio.sleep(_compute_pause_s(attempt))
    async with turn:
        for attempt in range(FREE_ATTEMPTS + 1, ATTEMPTS):
            try:
                return await write()
            except StaleWrite:
                await asyncio.sleep(_compute_pause_s(attempt))
        return await write()


async def derive_changes(store: Store, derive: Derive) -> Changeset:
    """Derive changes from the bank as it is now.

    They are marked with the version that it had before anything was read.
    """
    version = await store.version()
    return replace(await derive(store), expected_version=version)


async def commit_derived(store: Store, derive: Derive) -> Changeset:
    """Derive changes and commit them, again and again until no other writer was faster. Return the committed changes.

    Raises:
        StaleWrite: writers in other processes were faster each time.
        StoreUnavailable: the disk is full, or the file is read-only or locked.
    """

    async def write() -> Changeset:
        changes = await derive_changes(store, derive)
        if not changes.is_empty:
            await store.commit(changes)
        return changes

    return await retry_until_current(store, write)


def _compute_pause_s(attempt: int) -> float:
    return random.uniform(0, min(0.01 * attempt, _LONGEST_PAUSE_S))
