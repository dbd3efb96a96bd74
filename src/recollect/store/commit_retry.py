"""Writing what was derived from a reading, though others write as well: derive again until nobody was faster."""

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
"""Derives changes from the bank that it is handed.

It is called again where another writer was faster. Who derives need not keep the version in mind: whoever calls it has
taken the bank's version before the first reading, and a bank that has moved on since refuses the changes.
"""

ATTEMPTS: Final = 50
FREE_ATTEMPTS: Final = 3
"""So many attempts are made while others write too. After that, the others in this process wait."""

_LONGEST_PAUSE_S: Final = 0.5

# Who holds a store's lock may not be overtaken by the other tasks of this process. Without that, what takes longer to
# derive than a message takes to be kept would never be written while a conversation is imported.
_locks: WeakKeyDictionary[Store, asyncio.Lock] = WeakKeyDictionary()


async def retry_until_current(store: Store, write: Callable[[], Awaitable[T]]) -> T:
    """Write what was derived from a reading of the store, again and again while somebody else was faster.

    Raises:
        StaleWrite: others, in other processes, kept being faster.
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
    """Derive changes from the bank as it is; they are marked with the version that it had before anything was read."""
    version = await store.version()
    return replace(await derive(store), expected_version=version)


async def commit_derived(store: Store, derive: Derive) -> Changeset:
    """Derive and commit, again and again while somebody else was faster; gives what was committed.

    Raises:
        StaleWrite: others, in other processes, kept being faster.
        StoreUnavailable: the disk is full, the file is read-only or locked.
    """

    async def write() -> Changeset:
        changes = await derive_changes(store, derive)
        if not changes.is_empty:
            await store.commit(changes)
        return changes

    return await retry_until_current(store, write)


def _compute_pause_s(attempt: int) -> float:
    return random.uniform(0, min(0.01 * attempt, _LONGEST_PAUSE_S))
