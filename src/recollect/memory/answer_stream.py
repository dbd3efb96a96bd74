"""Yield the steps of an answer while it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from recollect.domain.answers import Answer
from recollect.ports import AnswerEvent, Listener


async def stream_answer(answer: Callable[[Listener], Awaitable[Answer]]) -> AsyncGenerator[AnswerEvent | Answer, None]:
    """Yield every event that ``answer`` reports, each when it is finished, and the answer at the end.

    Errors of ``answer`` are raised here. If the generator is closed before its end, the work is cancelled.
    """
    events: asyncio.Queue[AnswerEvent | None] = asyncio.Queue()

    async def work() -> Answer:
        try:
            return await answer(events.put_nowait)
        finally:
            events.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        while (event := await events.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # no work goes on unnoticed, and no error is lost
