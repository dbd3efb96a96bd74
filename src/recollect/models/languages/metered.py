"""Write a ledger row for every call, and check limits before each request of a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from recollect.domain.limits import Limit, exceeded
from recollect.domain.usage import LedgerEntry, Usage
from recollect.errors import LimitReached, MissingExtra, ModelError, NoModel
from recollect.models.language import Check, LanguageModel, Prompt, Reply, Role
from recollect.models.languages.by_role import of_role
from recollect.models.languages.tally import Tally, estimated_tokens, gated, metered_stream
from recollect.models.languages.unconfigured import NoLanguageModel, no_model

T = TypeVar("T")


class Ledger(Protocol):
    """The place where a bank records the cost of its model calls. A :class:`~recollect.store.protocol.Store` is one."""

    async def record(self, entries: Sequence[LedgerEntry]) -> None: ...

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage: ...


@dataclass(slots=True)
class _Call:
    """A call in progress: its cost so far, and the least cost of its next request.

    ``tally`` is the model's own count from its first request on. It is missing if the model does not count.
    """

    role: Role
    estimate: int
    usage: Usage = Usage()
    tally: Tally | None = None
    failed: bool = False

    @property
    def held(self) -> int:
        """Return the tokens that count before they are recorded."""
        return self.estimate if self.tally is None else _tokens(self.tally.usage) + self.estimate

    def broken_off(self) -> Usage:
        """Return the cost of a cancelled call. Everything that was sent is paid for."""
        if self.tally is not None:
            return self.tally.usage
        return self.usage if self.usage.calls else Usage(calls=1, tokens_in=self.estimate)


class Metered:
    """Records the cost of each call in a ledger, including failed calls, and makes no call past a limit.

    Limits are checked before a call. They are checked again before each of its requests, if the model supports that
    (:func:`~recollect.models.languages.tally.gated`), because corrections and retries may be a dozen requests. Calls in
    progress count with their cost so far and the tokens of their prompts, so that many calls together do not pass a
    limit. The length of their answers is unknown, and may pass it. Calls in progress in other processes do not count. A
    reply without a cost (from a cache) is not a call.

    Args:
        model: the model that answers.
        ledger: the ledger of the bank for which the calls are made.
        limits: the limits on the tokens of that bank.
        clock: returns the aware present.
    """

    def __init__(
        self, model: LanguageModel, ledger: Ledger, *, limits: Sequence[Limit] = (), clock: Callable[[], datetime]
    ) -> None:
        self._model, self._ledger, self._limits, self._clock = model, ledger, tuple(limits), clock
        self._under_way: list[_Call] = []
        # A call must not move from the calls in progress to the ledger between the two reads.
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer, and record its cost.

        Raises:
            LimitReached: the call, or another request of it, would break a limit; that request was not sent.
            ModelError: the model raised it; the cost of the call is recorded.
        """
        async with self._metered(prompt) as call:
            with gated(partial(self._let_pass, call)):
                reply = await self._model.generate(prompt, answer_type, check=check)
            call.usage = reply.usage
        return reply

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """Generate plain text, piece by piece, and record its cost, even if nobody reads it to the end.

        Raises:
            LimitReached, ModelError: as :meth:`generate`.
        """
        async with self._metered(prompt) as call:
            with gated(partial(self._let_pass, call)):
                pieces = metered_stream(self._model, prompt)
            try:
                async for piece in pieces:
                    yield piece
            finally:
                await pieces.aclose()
                call.usage = pieces.usage

    def missing(self, role: Role, operation: str) -> NoModel | None:
        """Return the error for want of a model that a call in this role would raise; ``None`` where there is one."""
        return no_model(operation, role) if isinstance(of_role(self._model, role), NoLanguageModel) else None

    async def reached(self, role: Role) -> LimitReached | None:
        """Return the error that a call in this role would raise, without a call, or ``None`` if no limit is used up."""
        async with self._lock:
            return await self._reached(role, 0)

    @asynccontextmanager
    async def _metered(self, prompt: Prompt) -> AsyncIterator[_Call]:
        call = await self._begun(prompt)
        try:
            yield call
        except (NoModel, MissingExtra):  # no request was sent
            call.usage = Usage()
            raise
        except ModelError as exc:
            call.usage = exc.usage if isinstance(exc.usage, Usage) else call.usage
            # If the limit is met before any request, no call was made, so none has failed.
            call.failed = not isinstance(exc, LimitReached) or call.usage.calls > 0
            raise
        except GeneratorExit:  # the caller stopped reading the stream
            raise
        except BaseException:  # cancelled
            call.failed = True
            call.usage = call.broken_off()
            raise
        finally:
            await self._ended(prompt, call)

    async def _begun(self, prompt: Prompt) -> _Call:
        call = _Call(prompt.role, estimated_tokens(prompt.system, prompt.asked))
        async with self._lock:
            if error := await self._reached(prompt.role, call.estimate):
                raise error
            self._under_way.append(call)
        return call

    async def _let_pass(self, call: _Call, tally: Tally, needed: int) -> None:
        """Check the limits for a request of a call in progress, which counts with its cost so far."""
        async with self._lock:
            call.tally, call.estimate = tally, 0
            if error := await self._reached(call.role, needed):
                raise error
            call.estimate = needed

    async def _ended(self, prompt: Prompt, call: _Call) -> None:
        entry = LedgerEntry(
            at=self._clock(),
            operation=prompt.operation,
            role=str(prompt.role),
            model=of_role(self._model, prompt.role).name,
            usage=call.usage,
            failed=call.failed,
        )
        async with self._lock:
            try:
                if call.failed or call.usage.calls:
                    await self._ledger.record([entry])
            finally:
                self._under_way.remove(call)

    async def _reached(self, role: Role, needed: int) -> LimitReached | None:
        now = self._clock()
        limits = [limit for limit in self._limits if limit.covers(role)]
        spent = {limit: await self._spent(limit, now) for limit in limits}
        broken = exceeded(limits, spent, needed)
        if broken is None:
            return None
        until = broken.until(now)
        opens = "" if until is None else f"; it opens again at {until:%Y-%m-%d %H:%M} UTC"
        call = f", and this call needs about {needed:,}" if needed else ""
        return LimitReached(f"no call past the limit of {broken}: {spent[broken]:,} are spent{call}{opens}", until)

    async def _spent(self, limit: Limit, now: datetime) -> int:
        usage = await self._ledger.spent(limit.role, limit.since(now))
        return _tokens(usage) + sum(call.held for call in self._under_way if limit.covers(call.role))


def _tokens(usage: Usage) -> int:
    return usage.tokens_in + usage.tokens_out
