"""Count the cost of a call while it is in progress."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from recollect.domain.usage import Usage
from recollect.models.language import LanguageModel, Prompt

BYTES_PER_TOKEN = 4


class RequestGate(Protocol):
    """Checks each request of a call before it is sent."""

    async def __call__(self, tally: UsageTally, needed: int) -> None:
        """Allow a request of about ``needed`` tokens. ``tally`` is the cost of its call so far.

        Raises:
            LimitReached: the request would break a limit, and must not be sent.
        """
        ...


# A call may be many requests (corrections, retries), and several wrappers lie between the gate and the sender. With a
# context variable these wrappers need not know the gate. A further argument would change all of them.
_GATE: ContextVar[RequestGate | None] = ContextVar("recollect_gate", default=None)


@contextmanager
def use_gate(gate: RequestGate | None) -> Iterator[None]:
    """Send the requests of all calls that begin in this context through a gate. Do not keep it open over a
    ``yield``.
    """
    token = _GATE.set(gate)
    try:
        yield
    finally:
        _GATE.reset(token)


@dataclass(slots=True)
class UsageTally:
    """Adds up the cost of the requests of one call. ``gate`` is the gate within which the call began."""

    usage: Usage = Usage()
    gate: RequestGate | None = field(default_factory=_GATE.get, repr=False)

    def add(self, usage: Usage) -> None:
        self.usage += usage

    async def request_leave(self, needed: int) -> None:
        """Ask the gate before a request of about ``needed`` tokens.

        Raises:
            LimitReached: the request must not be sent.
        """
        if self.gate is not None:
            await self.gate(self, needed)


class MeteredStream(AsyncIterator[str]):
    """The pieces of a text. :attr:`usage` is their cost so far, and the whole cost at the end."""

    def __init__(self, pieces: AsyncGenerator[str], tally: UsageTally) -> None:
        self._pieces, self._tally = pieces, tally

    @property
    def usage(self) -> Usage:
        return self._tally.usage

    async def __anext__(self) -> str:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        await self._pieces.aclose()


def open_stream(model: LanguageModel, prompt: Prompt) -> MeteredStream:
    """Return the stream of a model with its usage. If the model does not report its usage, it is estimated."""
    pieces = model.stream(prompt)
    if isinstance(pieces, MeteredStream):
        return pieces
    tally = UsageTally()
    return MeteredStream(_count_pieces(pieces, prompt, tally), tally)


async def _count_pieces(pieces: AsyncIterator[str], prompt: Prompt, tally: UsageTally) -> AsyncGenerator[str, None]:
    tally.add(Usage(calls=1, tokens_in=estimate_tokens(prompt.system, prompt.full_text)))
    try:
        async for piece in pieces:
            tally.add(Usage(tokens_out=estimate_tokens(piece)))
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


def estimate_tokens(*texts: str) -> int:
    """Estimate the tokens of texts as a quarter of their bytes, so that other scripts than Latin count for more."""
    return -(-sum(len(text.encode("utf-8", "replace")) for text in texts) // BYTES_PER_TOKEN)
