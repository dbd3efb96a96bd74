"""From programs that wait to a bank that does not, and the other way round."""

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


class Portal:
    """A bank, for callers that wait and callers that do not.

    Args:
        bank: an asynchronous one belongs to the event loop that runs now, or when it is first awaited.
    """

    def __init__(self, bank: AnyBank) -> None:
        self._facade = bank if isinstance(bank, sync.Bank) else None
        self.bank = bank.asynchronous if isinstance(bank, sync.Bank) else bank
        self._loop = None if self._facade else _running()

    def wait(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
        """What a coroutine function gives, waited for.

        Raises:
            RecollectError: an asynchronous bank's loop is the caller's, or was not running when this was made.
        """
        if self._facade is not None:
            return self._facade.run(function, *args)
        if self._loop is None or self._loop is _running():
            raise RecollectError(OUTSIDE)
        return asyncio.run_coroutine_threadsafe(function(*args), self._loop).result()

    async def run(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
        """What a coroutine function gives; where the bank lives in a thread of its own, from there."""
        if self._facade is None:
            self._loop = _running()
            return await function(*args)
        return await asyncio.to_thread(self._facade.run, function, *args)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
