"""What is done on the way to an answer, as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from recollect.domain.answers import Answer
from recollect.ports import AnswerEvent, Listener


async def stream_answer(answer: Callable[[Listener], Awaitable[Answer]]) -> AsyncGenerator[AnswerEvent | Answer, None]:
    """Everything that ``answer`` tells its follower, each when it is over, and last of all the answer.

    Its errors are raised here. Where the generator is closed before its end, the work is cancelled with it.
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
        await asyncio.gather(task, return_exceptions=True)  # nothing goes on unseen, and no error is left unread
