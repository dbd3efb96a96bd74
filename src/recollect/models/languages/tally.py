"""What a call costs, while it goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from recollect.domain.usage import Usage
from recollect.models.language import LanguageModel, Prompt

BYTES_PER_TOKEN = 4


class Gate(Protocol):
    """Looks at each request of a call before it is sent."""

    async def __call__(self, tally: Tally, needed: int) -> None:
        """Let a request of about ``needed`` tokens pass; ``tally`` is what its call has cost so far.

        Raises:
            LimitReached: the request would break a limit; it is not to be sent.
        """
        ...


# A call may be many requests (corrections, retries), and who sends them is wrapped more than once. What is between a
# gate and a request need not know of either, as a protocol with one more argument would have it.
_GATE: ContextVar[Gate | None] = ContextVar("recollect_gate", default=None)


@contextmanager
def gated(gate: Gate | None) -> Iterator[None]:
    """Have the requests of calls that begin in here pass a gate; not to be held over a ``yield`` of a generator."""
    token = _GATE.set(gate)
    try:
        yield
    finally:
        _GATE.reset(token)


@dataclass(slots=True)
class Tally:
    """Adds up what the requests of one call cost; ``gate`` is the one that the call began within."""

    usage: Usage = Usage()
    gate: Gate | None = field(default_factory=_GATE.get, repr=False)

    def add(self, usage: Usage) -> None:
        self.usage += usage

    async def ask_leave(self, needed: int) -> None:
        """Be let through before a request of about so many tokens.

        Raises:
            LimitReached: it is not to be sent.
        """
        if self.gate is not None:
            await self.gate(self, needed)


class Streamed(AsyncIterator[str]):
    """Pieces of a text; :attr:`usage` is what they have cost so far, and in all once they are at an end."""

    def __init__(self, pieces: AsyncGenerator[str], tally: Tally) -> None:
        self._pieces, self._tally = pieces, tally

    @property
    def usage(self) -> Usage:
        return self._tally.usage

    async def __anext__(self) -> str:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        await self._pieces.aclose()


def metered_stream(model: LanguageModel, prompt: Prompt) -> Streamed:
    """What a model streams, with its usage; that of a model which does not tell is estimated."""
    pieces = model.stream(prompt)
    if isinstance(pieces, Streamed):
        return pieces
    tally = Tally()
    return Streamed(_counted(pieces, prompt, tally), tally)


async def _counted(pieces: AsyncIterator[str], prompt: Prompt, tally: Tally) -> AsyncGenerator[str, None]:
    tally.add(Usage(calls=1, tokens_in=estimated_tokens(prompt.system, prompt.asked)))
    try:
        async for piece in pieces:
            tally.add(Usage(tokens_out=estimated_tokens(piece)))
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


def estimated_tokens(*texts: str) -> int:
    """About how many tokens texts are: a quarter of their bytes, so that other scripts than Latin count for more."""
    return -(-sum(len(text.encode("utf-8", "replace")) for text in texts) // BYTES_PER_TOKEN)
