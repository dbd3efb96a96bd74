"""The port from a question to an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from recollect.domain.answers import Answer, TraceStep
from recollect.domain.queries import Query
from recollect.store.commit_retry import Derive
from recollect.store.protocol import StoreReader

Listener = Callable[[TraceStep], None]
"""Receives each step when it is finished."""


def ignore_event(step: TraceStep) -> None:
    """Ignore a step. This is the listener if nobody follows the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer, and a function that derives its changes to the bank. ``derive`` is ``None`` if it changes nothing."""

    answer: Answer
    derive: Derive | None = None


class Responder(Protocol):
    """Answers questions from a bank."""

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Answer ``query.text``, with ``query.now`` as the present. Nothing is written.

        ``listener`` receives each step of ``Answer.trace``, in order, while the answer is still being made.

        Raises:
            ModelError: a model failed.
            RecallFailed: no evidence could be searched.
        """
        ...
