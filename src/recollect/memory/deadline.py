"""The time of one call of a bank."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from recollect.domain.checks import require_seconds
from recollect.errors import DeadlineExceeded

T = TypeVar("T")


class Deadline:
    """The moment by which a call must end, with everything that it waits for: embedders, models, and other writers.

    Args:
        seconds: the time from now on. ``None`` means that there is no limit.

    Raises:
        InvalidInput: the time is not a positive number.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds = None if seconds is None else require_seconds("timeout", seconds)
        self._until = None if seconds is None else asyncio.get_running_loop().time() + seconds

    async def wait_for(self, work: Coroutine[Any, Any, T], *, outcome: str) -> T:
        """Return the result of ``work``, or cancel it when the time is over. ``outcome`` says what that means.

        Raises:
            DeadlineExceeded: the time is over.
        """
        try:
            async with asyncio.timeout_at(self._until) as limit:
                return await work
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise DeadlineExceeded(f"the call was not done in {self._seconds:g} s; {outcome}") from exc
