"""The interface to the memory that is evaluated: any memory that stores messages and finds them again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from recollect.domain.messages import Message


class EvalEvidence(Protocol):
    """A piece of evidence. ``sources`` are ids of messages. The message that the piece is about comes first."""

    @property
    def sources(self) -> Sequence[str]: ...


class EvalRecall(Protocol):
    """The result of a recall: ``evidence``, the best first."""

    @property
    def evidence(self) -> Sequence[EvalEvidence]: ...


class EvalBank(Protocol):
    """One bank. It is empty when it is opened."""

    async def retain(self, messages: Sequence[Message], *, session: str) -> object:
        """Store the messages of a session. Each has an ``id``, which ``recall`` must return in ``sources``."""
        ...

    async def recall(self, query: str, *, limit: int, max_tokens: int | None, now: datetime | None) -> EvalRecall:
        """Find at most ``limit`` pieces of evidence. There is no limit of tokens if ``max_tokens`` is ``None``."""
        ...

    async def close(self) -> None: ...

    def size_bytes(self) -> int:
        """Return the size of the bank on disk, with derived data. It is called after the last recall and before
        ``close``.
        """
        ...


OpenBank = Callable[[str], Awaitable[EvalBank]]
"""A function that opens an empty bank for the conversation with this id."""
