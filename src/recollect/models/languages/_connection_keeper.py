"""Keep a model's connection open between calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic_ai.models import Model

IDLE_CLOSE_S: Final = 30.0


class ConnectionKeeper:
    """Keeps a model's HTTP client open for some time after the last call.

    A new client reads the certificates of the system, which takes about 40 ms, and connects to the server again. The
    client belongs to one event loop, and is closed when that loop ends.
    """

    def __init__(self, model: Model[Any]) -> None:
        self._model = model
        self._until = 0.0
        self._deadline: asyncio.Timeout | None = None
        self._task: asyncio.Task[None] | None = None

    def mark_used(self) -> None:
        """Note that the connection is in use. Call it while the model is entered."""
        self._until = asyncio.get_running_loop().time() + IDLE_CLOSE_S
        if self._deadline is not None:
            self._deadline.reschedule(self._until)
        elif self._task is None or self._task.done():
            self._task = asyncio.create_task(self._close_when_idle(), name="recollect keeps a connection")

    async def _close_when_idle(self) -> None:
        async with self._model:
            try:
                async with asyncio.timeout_at(self._until) as self._deadline:
                    await asyncio.Event().wait()
            except TimeoutError:
                pass
            finally:
                self._deadline = None
