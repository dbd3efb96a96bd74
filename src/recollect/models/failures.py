"""Tell a real cancellation from one that a model raises."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.errors import ModelError


def is_cancelled() -> bool:
    """Return true if somebody asked this task to stop. A ``CancelledError`` alone does not prove that."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@contextmanager
def no_false_cancellation(name: str) -> Iterator[None]:
    """Raise an error of our tree if a model raises a cancellation, or another exception that is no error.

    Without this, a task of a caller or a job would seem to be cancelled although nobody had asked for it. A real
    cancellation, ``KeyboardInterrupt``, ``SystemExit`` and the end of a generator stay what they are.

    Raises:
        ModelError: the model called ``name`` raised such an exception.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as exc:
        if isinstance(exc, asyncio.CancelledError) and is_cancelled():
            raise
        raise ModelError(f"the model {name} raised {type(exc).__name__}, although nobody had stopped it") from exc
