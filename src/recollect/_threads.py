"""Threads for the library's own blocking work: reading and writing banks, and long computations.

They are not the threads of ``asyncio.to_thread``. A model that a user provides may block these for ever, for example
an embedder that waits in a thread for a server that has died. There are few of them, and after some such calls no
thread would be left to read a bank.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Pool:
    """A pool of threads that a forked process does not share with its parent."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Begin a new pool. A fork copies a pool without its threads."""
        self.executor = ThreadPoolExecutor(min(32, (os.cpu_count() or 1) + 4), thread_name_prefix="recollect")


_pool = _Pool()


def start_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Start blocking work in a thread. Return the future of its result."""
    work = partial(function, *args, **kwargs) if kwargs else function
    return asyncio.get_running_loop().run_in_executor(_pool.executor, work, *(() if kwargs else args))


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work in a thread, and return its result.

    If the task is cancelled, the work goes on in its thread, and its result is lost.
    """
    return await start_in_thread(function, *args, **kwargs)
