"""Write changes that were derived from a reading of a bank. Derive them again if another writer was faster.

A write is right without any lock: a bank that has changed since it was read refuses the changes. Writers take turns so
that a write also succeeds soon. A writer that waits for its embedder gives its turn to others meanwhile
(:meth:`Write.wait_without_turn`), and does not embed the same text again (:attr:`Write.vectors`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import count
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

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
"""The number of attempts of a job during which others may write too. After that, the other writers wait."""

GENEROUS_WAITS: Final = 3
"""The number of times that a write gives its turn away as soon as it waits. After that, it keeps its turn for longer.

Vectors are kept, so a write waits again only if the bank has changed in such a way that other texts must be embedded.
"""

_SHORT_WAIT_S: Final = 0.005  # a shorter wait is not worth another turn
_LONG_WAIT_S: Final = 2.0  # an embedder that hangs must not hold up others for longer
_LONGEST_PAUSE_S: Final = 0.5

# The turns of the writers in this process. Store.turn orders the processes.
_locks: WeakKeyDictionary[Store, asyncio.Lock] = WeakKeyDictionary()


class CommittedThenCancelled(asyncio.CancelledError):
    """The task was cancelled while its transaction was being committed. The changes are stored."""


class Write:
    """One write of a bank, with all its attempts.

    ``vectors`` are those that were made for it, by purpose and text. ``version`` is the bank's version before the
    current attempt read anything, if it is known.
    """

    def __init__(self, store: Store) -> None:
        self.vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        self.version: int | None = None
        self._store = store
        self._lock = _locks.setdefault(store, asyncio.Lock())
        self._held: AsyncExitStack | None = None
        self._waits = 0  # of those that gave the turn away
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of this write, and hold it."""
        await self._take()
        try:
            yield
        finally:
            await self._leave()

    async def let_others_finish(self) -> None:
        """Wait until no write of this process holds the turn."""
        if self._lock.locked():
            async with self._lock:
                pass

    async def wait_without_turn(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of ``work``. If it takes long, other writers have their turns meanwhile.

        If this task is cancelled, ``work`` is cancelled too, and nobody waits for its end. It may ignore that.

        Raises:
            StaleWrite: others have written meanwhile, so that the rest of this attempt would be in vain.
        """
        task = asyncio.ensure_future(work)
        try:
            if self._held is not None or self._waiting:
                patience = _SHORT_WAIT_S if self._waits < GENEROUS_WAITS else _LONG_WAIT_S
                await asyncio.wait((task,), timeout=patience)
                if not task.done():
                    await self._wait_away(task)
            else:
                await asyncio.wait((task,))
            return task.result()
        finally:
            task.cancel()

    async def _wait_away(self, task: asyncio.Task[Any]) -> None:
        self._waiting += 1
        if self._waiting == 1:
            self._waits += 1
            await self._leave()
        try:
            await asyncio.wait((task,))
        finally:
            self._waiting -= 1
        if not self._waiting:
            await self._take()
            if task.exception() is None and self.version not in (None, await self._store.version()):
                raise StaleWrite("others have written to the bank while this write waited for a model")

    async def _take(self) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._lock)
            await stack.enter_async_context(self._store.turn())
            self._held = stack.pop_all()

    async def _leave(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            await held.aclose()


_current: ContextVar[Write | None] = ContextVar("recollect write", default=None)


def current_write() -> Write | None:
    """Return the write for which this task works, or ``None`` if it does not derive changes."""
    return _current.get()


async def retry_until_current(
    store: Store,
    write: Callable[[], Awaitable[T]],
    *,
    free_attempts: int = FREE_ATTEMPTS,
    attempts: int | None = ATTEMPTS,
) -> T:
    """Call ``write`` again and again until no other writer was faster.

    ``write`` has the turn after ``free_attempts``. Without ``attempts``, this goes on until it succeeds.

    Raises:
        StaleWrite: other writers were faster at each of the ``attempts``.
    """
    this = Write(store)
    before = _current.set(this)
    try:
        for attempt in range(1, free_attempts + 1):
            await this.let_others_finish()
            try:
                return await write()
            except StaleWrite:
                await asyncio.sleep(_compute_pause_s(attempt))
        async with this.turn():
            for attempt in count(free_attempts + 1):
                try:
                    return await write()
                except StaleWrite:
                    if attempt == attempts:
                        raise
                    await asyncio.sleep(_compute_pause_s(attempt - free_attempts))
    finally:
        _current.reset(before)
    raise AssertionError("unreachable")


async def derive_changes(store: Store, derive: Derive) -> Changeset:
    """Derive changes from the bank as it is now.

    They are marked with the version that it had before anything was read.
    """
    version = await store.version()
    if (write := current_write()) is not None:
        write.version = version
    return replace(await derive(store), expected_version=version)


async def write_in_turn(store: Store, write: Callable[[], Awaitable[T]]) -> T:
    """Call ``write`` when it has its turn, again and again until no writer without a turn was faster."""
    return await retry_until_current(store, write, free_attempts=0, attempts=None)


async def commit_derived(
    store: Store, derive: Derive, *, on_commit: Callable[[Changeset], object] = lambda _: None
) -> Changeset:
    """Derive changes and commit them, again and again until no other writer was faster. Return the committed changes.

    ``on_commit`` is also called if the task was cancelled while the changes were being stored.

    Raises:
        StoreUnavailable: the disk is full, or the file is read-only or locked.
    """

    async def write() -> Changeset:
        changes = await derive_changes(store, derive)
        if not changes.is_empty:
            try:
                await store.commit(changes)
            except CommittedThenCancelled:
                on_commit(changes)
                raise asyncio.CancelledError from None
        on_commit(changes)
        return changes

    return await write_in_turn(store, write)


def _compute_pause_s(attempt: int) -> float:
    return random.uniform(0, min(0.01 * attempt, _LONGEST_PAUSE_S))
