"""Connect synchronous programs to an asynchronous bank, and asynchronous programs to a synchronous one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from recollect import sync
from recollect.errors import RecollectError
from recollect.memory.bank import Bank

T = TypeVar("T")

AnyBank = Bank | sync.Bank
"""A bank, asynchronous or not."""

OUTSIDE = (
    "a bank of an event loop that runs here, or of none, cannot be waited for: await the asynchronous method, or open "
    "the bank with recollect.sync.Memory"
)


class BankPortal:
    """A bank for synchronous and asynchronous callers.

    Args:
        bank: a bank. An asynchronous bank belongs to one event loop: the loop that runs when the portal is made, or
            else the loop of the last ``call_async``.
    """

    def __init__(self, bank: AnyBank) -> None:
        self._facade = bank if isinstance(bank, sync.Bank) else None
        self.bank = bank.asynchronous if isinstance(bank, sync.Bank) else bank
        self._loop = None if self._facade else _running_loop()

    def call_blocking(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
        """Run a coroutine function in the bank's event loop, wait until it ends, and return its result.

        Raises:
            RecollectError: the caller runs in the event loop of the asynchronous bank, which cannot wait for itself, or
                this loop is not known yet.
        """
        if self._facade is not None:
            return self._facade.run(function, *args)
        if self._loop is None or self._loop is _running_loop():
            raise RecollectError(OUTSIDE)
        return asyncio.run_coroutine_threadsafe(function(*args), self._loop).result()

    async def call_async(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
        """Return the result of a coroutine function. It runs in the thread of the bank if the bank has one."""
        if self._facade is None:
            self._loop = _running_loop()
            return await function(*args)
        return await asyncio.to_thread(self._facade.run, function, *args)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
