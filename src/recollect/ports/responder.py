"""A question to an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from recollect.domain.answers import Answer, Step
from recollect.domain.queries import Query
from recollect.domain.traces import LoopRound
from recollect.store.commit_retry import Derive
from recollect.store.protocol import StoreReader

AnswerEvent = Step | LoopRound
"""Something that was done on the way to an answer: an iteration of a loop, or anything else in words."""

Listener = Callable[[AnswerEvent], None]
"""Is told of each thing that was done when it is over."""


def ignore_event(event: AnswerEvent) -> None:
    """Nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer, and how to derive what it changes in the bank; ``None`` where it changes nothing."""

    answer: Answer
    derive: Derive | None = None


class Responder(Protocol):
    """Answers questions from a bank."""

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Answer ``query.text``, in the present of ``query.now``; nothing is written.

        ``listener`` is told what was done, while the answer is still on its way.

        Raises:
            ModelError: a model failed.
            RecallFailed: no evidence could be looked for.
        """
        ...
