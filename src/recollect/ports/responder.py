"""A question to an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from recollect.domain.answers import Answer
from recollect.domain.queries import Query
from recollect.ports.consolidator import Derive
from recollect.store.protocol import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer, and how to derive what it changes in the bank; ``None`` where it changes nothing."""

    answer: Answer
    derive: Derive | None = None


class Responder(Protocol):
    """Answers questions from a bank."""

    async def respond(self, query: Query, reader: StoreReader) -> Response:
        """Answer ``query.text``, in the present of ``query.now``; nothing is written.

        Raises:
            ModelError: a model failed.
            RecallFailed: no evidence could be looked for.
        """
        ...
