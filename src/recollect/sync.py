"""The synchronous facade: :class:`Memory` and :class:`Bank` for programs without ``await``.

Every call runs on an event loop in a thread of the memory, and waits for the result. So it works in a script, in
several threads, and inside a running loop (Jupyter)::

    from recollect.sync import Memory

    with Memory.open("memory/") as memory:
        bank = memory.bank("ada")
        found = bank.recall("When did Ada adopt Toby?")

No method is written twice: each is the asynchronous one, with its name, signature and docstring.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar
from weakref import WeakSet

from recollect import app, ports
from recollect.domain.processes import HomeProcess
from recollect.errors import RecollectError, StoreError
from recollect.memory.bank import Bank as AsyncBank
from recollect.memory.memory import BaseMemory

P = ParamSpec("P")
T = TypeVar("T")

A = TypeVar("A")

_BATCH = 200
_CLOSED = "the memory is closed; open it again with Memory.open()"


class _Loop:
    """Runs an event loop in its own thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._left: WeakSet[AsyncGenerator[Any, None]] = WeakSet()
        self._home = HomeProcess()
        self._serving: _Serving | None = None  # from the first call on, so that a memory can be opened before a fork

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object, **kwargs: object) -> T:
        """Run a coroutine function on the loop, and return its result.

        Raises:
            StoreError: the loop has ended, or it ended during the call.
            OpenedBeforeFork: the loop runs in the process from which this one was forked.
            RecollectError: the caller is the thread of the loop, which cannot wait for itself.
        """
        self._home.require()
        if self._serving is not None and threading.current_thread() is self._serving.thread:
            raise RecollectError(
                "a synchronous memory was used from within itself, for example in a function given to run(); "
                "use the asynchronous bank there"
            )
        with self._lock:  # no call is added after the loop was asked to end
            if self._closed:
                raise StoreError(_CLOSED)
            self._serving = self._serving or _start_serving()
            future = asyncio.run_coroutine_threadsafe(function(*args, **kwargs), self._serving.loop)
        try:
            return future.result()
        except CancelledError:
            raise StoreError(_CLOSED) from None
        except BaseException:
            future.cancel()  # after Ctrl-C, a call for which nobody waits must not go on
            raise

    def abandon(self, iterator: AsyncIterator[Any]) -> None:
        """Remember an iterator that the caller may leave before its end."""
        if isinstance(iterator, AsyncGenerator):
            with self._lock:
                self._left.add(iterator)

    async def close_abandoned(self) -> None:
        """Close the iterators that the caller has left. An iterator that is being read ends with the loop."""
        with self._lock:
            left = list(self._left)
        for iterator in left:
            with suppress(RuntimeError):
                await iterator.aclose()

    @property
    def closed(self) -> bool:
        """Return true if no call can be made, also if the loop belongs to the parent of this process."""
        return self._closed or self._home.is_elsewhere

    def close(self) -> None:
        """End the loop and its thread. Running calls are cancelled."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._serving is not None:
                self._serving.loop.call_soon_threadsafe(self._serving.stop.set)
        if self._serving is not None:
            self._serving.thread.join()


@dataclass(frozen=True, slots=True)
class _Serving:
    """A running loop, its thread, and what ends it."""

    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    thread: threading.Thread


def _start_serving() -> _Serving:
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    # A daemon thread: a program ends even if it does not close the memory. Acknowledged writes are on the disk.
    thread = threading.Thread(target=_serve, args=(started,), name="recollect", daemon=True)
    thread.start()
    return _Serving(*started.result(), thread)


def _serve(started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

    asyncio.run(main())


class _Facade(Generic[A]):
    """An asynchronous object, and the loop that it runs on."""

    def __init__(self, inner: A, loop: _Loop) -> None:
        self._inner, self._loop = inner, loop


def _make_blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Facade[A], P], T]:
    """Return a coroutine method as a method that waits."""

    @wraps(method)
    def call(self: _Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.call(method, self._inner, *args, **kwargs)

    return call


def _make_iterating(
    method: Callable[Concatenate[A, P], AsyncIterator[T]], batch: int = _BATCH
) -> Callable[Concatenate[_Facade[A], P], Iterator[T]]:
    """Return a method with an asynchronous iterator as one with a plain iterator. It reads ``batch`` values at a
    time.
    """

    @wraps(method)
    def call(self: _Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _iterate(self._loop, method(self._inner, *args, **kwargs), batch)

    return call


class AgentTools(_Facade[ports.AgentTools]):
    """Tools over a bank (:class:`recollect.ports.AgentTools`) without ``await``.

    Every method of the recipe's tools is here, with its name, signature and docstring.
    """

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the tools. A coroutine method is returned as a method that waits."""
        found = getattr(self._inner, name)
        if not iscoroutinefunction(found):
            return found

        @wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._loop.call(found, *args, **kwargs)

        return call


def _wrap_tools(
    method: Callable[Concatenate[AsyncBank, P], ports.AgentTools],
) -> Callable[Concatenate[_Facade[AsyncBank], P], AgentTools]:
    """Return a method that returns tools as one whose tools wait."""

    @wraps(method)
    def call(self: _Facade[AsyncBank], /, *args: P.args, **kwargs: P.kwargs) -> AgentTools:
        return AgentTools(method(self._inner, *args, **kwargs), self._loop)

    return call


class Bank(_Facade[AsyncBank]):
    """A bank of memories: :class:`recollect.Bank` without ``await``. Threads can share it."""

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def asynchronous(self) -> AsyncBank:
        """Return the same bank with ``await``. It works only on its own loop, in functions given to :meth:`run`."""
        return self._inner

    def run(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
        """Run a coroutine function on the bank's loop, and return its result.

        Raises:
            StoreError: the memory is closed.
            RecollectError: the caller already runs on the bank's loop.
        """
        return self._loop.call(function, *args)

    retain = _make_blocking(AsyncBank.retain)
    add_facts = _make_blocking(AsyncBank.add_facts)
    recall = _make_blocking(AsyncBank.recall)
    ask = _make_blocking(AsyncBank.ask)
    ask_stream = _make_iterating(AsyncBank.ask_stream, batch=1)
    reflect = _make_blocking(AsyncBank.reflect)
    tools = _wrap_tools(AsyncBank.tools)
    items = _make_blocking(AsyncBank.items)
    opinions = _make_blocking(AsyncBank.opinions)
    observations = _make_blocking(AsyncBank.observations)
    profile = _make_blocking(AsyncBank.profile)
    set_profile = _make_blocking(AsyncBank.set_profile)
    add_background = _make_blocking(AsyncBank.add_background)
    run_jobs = _make_blocking(AsyncBank.run_jobs)
    stop_jobs = _make_blocking(AsyncBank.stop_jobs)
    close = _make_blocking(AsyncBank.close)
    jobs = _make_blocking(AsyncBank.jobs)
    retry_job = _make_blocking(AsyncBank.retry_job)
    drop_job = _make_blocking(AsyncBank.drop_job)
    costs = _make_blocking(AsyncBank.costs)
    forget = _make_blocking(AsyncBank.forget)
    messages = _make_blocking(AsyncBank.messages)
    messages_of = _make_blocking(AsyncBank.messages_of)
    sessions = _make_blocking(AsyncBank.sessions)
    merges = _make_blocking(AsyncBank.merges)
    undo_merge = _make_blocking(AsyncBank.undo_merge)
    info = _make_blocking(AsyncBank.info)
    export = _make_iterating(AsyncBank.export)
    import_ = _make_blocking(AsyncBank.import_)
    rebuild = _make_blocking(AsyncBank.rebuild)
    accept_losses = _make_blocking(AsyncBank.accept_losses)
    encode_missing = _make_blocking(AsyncBank.encode_missing)
    backfill = _make_blocking(AsyncBank.backfill)
    calibrate = _make_blocking(AsyncBank.calibrate)


def _wrap_bank(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, AsyncBank]],
) -> Callable[Concatenate[_Facade[A], P], Bank]:
    """Return a coroutine method that returns a bank as one that waits and returns a synchronous bank."""

    @wraps(method)
    def call(self: _Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> Bank:
        return Bank(self._loop.call(method, self._inner, *args, **kwargs), self._loop)

    return call


def _wrap_open(make: Callable[P, app.Memory]) -> Callable[P, Memory]:
    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> Memory:
        return Memory(make(*args, **kwargs), _Loop())

    return call


class Memory(_Facade[BaseMemory]):
    """Long-term memory: :class:`recollect.Memory` without ``await``. Use it as ``with``, or call :meth:`close`."""

    open = staticmethod(_wrap_open(app.Memory.open))
    bank = _wrap_bank(app.Memory.bank)
    rebuild = _wrap_bank(app.Memory.rebuild)
    banks = _make_blocking(app.Memory.banks)
    banks_with_jobs = _make_blocking(app.Memory.banks_with_jobs)
    info = _make_blocking(app.Memory.info)
    backup = _make_blocking(app.Memory.backup)
    restore = _make_blocking(app.Memory.restore)
    import_bank = _make_blocking(app.Memory.import_bank)
    drop = _make_blocking(app.Memory.drop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every bank and end the thread. All acknowledged writes are already stored."""
        if self._loop.closed:
            return
        try:
            self._loop.call(self._loop.close_abandoned)  # while the banks can still record the cost
            self._loop.call(self._inner.close)
        finally:
            self._loop.close()


def _iterate(loop: _Loop, iterator: AsyncIterator[T], batch: int) -> Iterator[T]:
    """Yield the values of an asynchronous iterator, read in batches because each call to the loop has a cost."""
    loop.abandon(iterator)
    try:
        while values := loop.call(_take, iterator, batch):
            yield from values
    finally:
        closing = getattr(iterator, "aclose", None)
        if closing is not None and not loop.closed:
            loop.call(closing)


async def _take(iterator: AsyncIterator[T], most: int) -> list[T]:
    values: list[T] = []
    async for value in iterator:
        values.append(value)
        if len(values) == most:
            break
    return values
