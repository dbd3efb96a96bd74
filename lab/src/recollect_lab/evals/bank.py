"""The seam to what is evaluated: any memory that keeps messages and finds them again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from recollect.domain.messages import Message


class EvalEvidence(Protocol):
    """A piece of evidence. ``sources`` are ids of messages, the one that the piece is about first."""

    @property
    def sources(self) -> Sequence[str]: ...


class EvalRecall(Protocol):
    """What a recall gives: ``evidence``, best first."""

    @property
    def evidence(self) -> Sequence[EvalEvidence]: ...


class EvalBank(Protocol):
    """One bank, empty when it is opened."""

    async def retain(self, messages: Sequence[Message], *, session: str) -> object:
        """Keep a session's messages; each has an ``id``, which ``recall`` must give back in ``sources``."""
        ...

    async def recall(self, query: str, *, limit: int, max_tokens: int | None, now: datetime | None) -> EvalRecall:
        """Find at most ``limit`` pieces of evidence, cut at no number of tokens where ``max_tokens`` is ``None``."""
        ...

    async def close(self) -> None: ...

    def size_bytes(self) -> int:
        """What the bank takes on disk, derived data included; asked for after the last recall, before ``close``."""
        ...


OpenBank = Callable[[str], Awaitable[EvalBank]]
"""Opens an empty bank for the conversation of that id."""
