"""Write a ledger row for every call, and check limits before each request of a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from recollect.domain.limits import Limit, find_exceeded_limit
from recollect.domain.receipts import ForgottenReplies
from recollect.domain.usage import LedgerEntry, Usage
from recollect.errors import LimitReached, MissingExtra, ModelError, NoModel
from recollect.models.failures import no_false_cancellation
from recollect.models.language import LanguageModel, ModelRole, Prompt, Reply, ReplyCheck
from recollect.models.languages.reply_cache import forget_replies, list_cache_folders
from recollect.models.languages.role_models import choose_for_role
from recollect.models.languages.unconfigured import UnconfiguredModel, no_model
from recollect.models.languages.usage_tally import UsageTally, estimate_tokens, open_stream, use_gate

if TYPE_CHECKING:
    from recollect.text.quotes import Quotes

T = TypeVar("T")


class Ledger(Protocol):
    """The place where a bank records the cost of its model calls. A :class:`~recollect.store.protocol.Store` is one."""

    async def record(self, entries: Sequence[LedgerEntry]) -> None: ...

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage: ...


@dataclass(slots=True)
class _PendingCall:
    """A call in progress: its cost so far, and the least cost of its next request.

    ``tally`` is the model's own count from its first request on. It is missing if the model does not count.
    """

    role: ModelRole
    estimate: int
    usage: Usage = Usage()
    tally: UsageTally | None = None
    failed: bool = False

    @property
    def reserved_tokens(self) -> int:
        """Return the tokens that count before they are recorded."""
        return self.estimate if self.tally is None else _sum_tokens(self.tally.usage) + self.estimate

    def cancelled_usage(self) -> Usage:
        """Return the cost of a cancelled call. Everything that was sent is paid for."""
        if self.tally is not None:
            return self.tally.usage
        return self.usage if self.usage.calls else Usage(calls=1, tokens_in=self.estimate)


class LedgerModel:
    """Records the cost of each call in a ledger, including failed calls, and makes no call past a limit.

    Limits are checked before a call. They are checked again before each of its requests, if the model supports that
    (:func:`~recollect.models.languages.usage_tally.use_gate`), because corrections and retries may be a dozen requests.
    Calls in progress count with their cost so far and the tokens of their prompts, so that many calls together do not
    pass a limit. The length of their answers is unknown, and may pass it. Calls in progress in other processes do not
    count. A reply without a cost (from a cache) is not a call.

    Args:
        model: the model that answers.
        ledger: the ledger of the bank for which the calls are made.
        limits: the limits on the tokens of that bank.
        clock: returns the aware present.
        caches: folders of kept replies, besides those of the model. Forgetting reaches them.
    """

    def __init__(
        self,
        model: LanguageModel,
        ledger: Ledger,
        *,
        limits: Sequence[Limit] = (),
        clock: Callable[[], datetime],
        caches: frozenset[Path] = frozenset(),
    ) -> None:
        self._caches = caches | list_cache_folders(model)
        self._model, self._ledger, self._limits, self._clock = model, ledger, tuple(limits), clock
        self._under_way: list[_PendingCall] = []
        # A call must not move from the calls in progress to the ledger between the two reads.
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    async def forget_replies(self, quotes: Quotes) -> ForgottenReplies:
        """Remove the kept replies that contain telling spans of forgotten texts, whichever bank asked for them."""
        if not self._caches:
            return ForgottenReplies()
        return await asyncio.to_thread(forget_replies, sorted(self._caches), quotes)

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Generate an answer, and record its cost.

        Raises:
            LimitReached: the call, or another request of it, would break a limit; that request was not sent.
            ModelError: the model raised it; the cost of the call is recorded.
        """
        async with self._meter(prompt) as call:
            with use_gate(partial(self._check_request, call)), no_false_cancellation(self.name):
                reply = await self._model.generate(prompt, answer_type, check=check)
            call.usage = reply.usage
        return reply

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """Generate plain text, piece by piece, and record its cost, even if nobody reads it to the end.

        Raises:
            LimitReached, ModelError: as :meth:`generate`.
        """
        async with self._meter(prompt) as call:
            with use_gate(partial(self._check_request, call)):
                pieces = open_stream(self._model, prompt)
            try:
                with no_false_cancellation(self.name):
                    async for piece in pieces:
                        yield piece
            finally:
                await pieces.aclose()
                call.usage = pieces.usage

    def missing(self, role: ModelRole, operation: str) -> NoModel | None:
        """Return the error for want of a model that a call in this role would raise; ``None`` where there is one."""
        return no_model(operation, role) if isinstance(choose_for_role(self._model, role), UnconfiguredModel) else None

    async def find_reached_limit(self, role: ModelRole) -> LimitReached | None:
        """Return the error that a call in this role would raise, without a call, or ``None`` if no limit is used up."""
        async with self._lock:
            return await self._find_reached_limit(role, 0)

    @asynccontextmanager
    async def _meter(self, prompt: Prompt) -> AsyncIterator[_PendingCall]:
        call = await self._begin_call(prompt)
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
            call.usage = call.cancelled_usage()
            raise
        finally:
            await self._end_call(prompt, call)

    async def _begin_call(self, prompt: Prompt) -> _PendingCall:
        call = _PendingCall(prompt.role, estimate_tokens(prompt.system, prompt.full_text))
        async with self._lock:
            if error := await self._find_reached_limit(prompt.role, call.estimate):
                raise error
            self._under_way.append(call)
        return call

    async def _check_request(self, call: _PendingCall, tally: UsageTally, needed: int) -> None:
        """Check the limits for a request of a call in progress, which counts with its cost so far."""
        async with self._lock:
            call.tally, call.estimate = tally, 0
            if error := await self._find_reached_limit(call.role, needed):
                raise error
            call.estimate = needed

    async def _end_call(self, prompt: Prompt, call: _PendingCall) -> None:
        entry = LedgerEntry(
            at=self._clock(),
            operation=prompt.operation,
            role=str(prompt.role),
            model=choose_for_role(self._model, prompt.role).name,
            usage=call.usage,
            failed=call.failed,
        )
        async with self._lock:
            try:
                if call.failed or call.usage.calls:
                    await self._ledger.record([entry])
            finally:
                self._under_way.remove(call)

    async def _find_reached_limit(self, role: ModelRole, needed: int) -> LimitReached | None:
        now = self._clock()
        limits = [limit for limit in self._limits if limit.covers(role)]
        spent = {limit: await self._count_spent(limit, now) for limit in limits}
        broken = find_exceeded_limit(limits, spent, needed)
        if broken is None:
            return None
        until = broken.until(now)
        opens = "" if until is None else f"; it opens again at {until:%Y-%m-%d %H:%M} UTC"
        call = f", and this call needs about {needed:,}" if needed else ""
        return LimitReached(f"no call past the limit of {broken}: {spent[broken]:,} are spent{call}{opens}", until)

    async def _count_spent(self, limit: Limit, now: datetime) -> int:
        usage = await self._ledger.spent(limit.role, limit.since(now))
        return _sum_tokens(usage) + sum(call.reserved_tokens for call in self._under_way if limit.covers(call.role))


def _sum_tokens(usage: Usage) -> int:
    return usage.tokens_in + usage.tokens_out
