"""A ledger row for every call, and limits that are checked before each of its requests."""

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

T = TypeVar("T")


class Ledger(Protocol):
    """Where a bank writes down what its model calls cost; a :class:`~recollect.store.protocol.Store` is one."""

    async def record(self, entries: Sequence[LedgerEntry]) -> None: ...

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage: ...


@dataclass(slots=True)
class _Call:
    """A call under way: what it has cost, and what its next request is going to cost at least.

    ``tally`` is the model's own count, from its first request on; there is none where a model does not tell.
    """

    role: Role
    estimate: int
    usage: Usage = Usage()
    tally: Tally | None = None
    failed: bool = False

    @property
    def held(self) -> int:
        """Tokens that count before they are written down."""
        return self.estimate if self.tally is None else _tokens(self.tally.usage) + self.estimate

    def broken_off(self) -> Usage:
        """What a call has cost that was cancelled: what was sent is paid for."""
        if self.tally is not None:
            return self.tally.usage
        return self.usage if self.usage.calls else Usage(calls=1, tokens_in=self.estimate)


class Metered:
    """Writes what each call costs into a ledger, failed calls included, and makes none past a limit.

    Limits are looked at before a call, and again before each of its requests where the model asks for that
    (:func:`~recollect.models.languages.tally.gated`): corrections and retries may be a dozen. Calls under way count
    with what they have cost and the tokens of their prompts, so that many at once do not run past a limit together;
    what they will be answered is not known beforehand, and may. Calls that other processes have under way are not
    seen. A reply that cost nothing (from a cache) is no call.

    Args:
        model: who answers.
        ledger: of the bank that the calls are made for.
        limits: on that bank's tokens.
        clock: gives the aware present.
    """

    def __init__(
        self, model: LanguageModel, ledger: Ledger, *, limits: Sequence[Limit] = (), clock: Callable[[], datetime]
    ) -> None:
        self._model, self._ledger, self._limits, self._clock = model, ledger, tuple(limits), clock
        self._under_way: list[_Call] = []
        # Whether a call counts as under way or as spent must not change between looking at the one and at the other.
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer, and write down what it cost.

        Raises:
            LimitReached: the call, or another request of it, would break a limit; that was not sent.
            ModelError: what the model raises; what the call cost all the same is written down.
        """
        async with self._metered(prompt) as call:
            with gated(partial(self._let_pass, call)):
                reply = await self._model.generate(prompt, answer_type, check=check)
            call.usage = reply.usage
        return reply

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """Generate plain text, piece by piece, and write down what it cost, also where it is not read to its end.

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

    async def reached(self, role: Role) -> LimitReached | None:
        """What a call in this role would raise, without making one; ``None`` where no limit is used up."""
        async with self._lock:
            return await self._reached(role, 0)

    @asynccontextmanager
    async def _metered(self, prompt: Prompt) -> AsyncIterator[_Call]:
        call = await self._begun(prompt)
        try:
            yield call
        except (NoModel, MissingExtra):  # nobody was asked
            call.usage = Usage()
            raise
        except ModelError as exc:
            call.usage = exc.usage if isinstance(exc.usage, Usage) else call.usage
            # A limit that was met before anything was sent is no failed call: none was made.
            call.failed = not isinstance(exc, LimitReached) or call.usage.calls > 0
            raise
        except GeneratorExit:  # a stream that nobody reads on
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
        """A request of a call under way, which counts with what it has cost until then."""
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
