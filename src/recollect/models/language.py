"""The port for language models: a prompt in, a typed answer out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from recollect.domain.usage import Usage

T = TypeVar("T")

ReplyCheck = Callable[[T], None]


class ModelRole(StrEnum):
    """The task for which a model is called. Each role can have its own model."""

    EXTRACT = "extract"
    CONSOLIDATE = "consolidate"
    REFLECT = "reflect"
    ANSWER = "answer"
    ASSIST = "assist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The request to a model.

    ``operation`` names the caller ("hindsight.observe"), and ``subject`` names the topic (a session, an entity or a
    question). Both are for the ledger and for recordings, and never reach the model. ``system`` holds only
    instructions. ``prefix`` and ``text`` may hold memory inside a fence (:mod:`recollect.text.fencing`). ``prefix`` is
    the part that many calls share, such as a segment that several questions ask about. A model that can keep its state
    reads ``system`` and ``prefix`` once (E-mem, 3.5).
    """

    role: ModelRole
    operation: str
    subject: str
    system: str
    text: str
    prefix: str = ""

    @property
    def full_text(self) -> str:
        """Return the whole request: the prefix, directly followed by the text."""
        return self.prefix + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[T]):
    """A model's typed answer and its cost, including failed attempts. ``notes`` describe problems on the way."""

    value: T
    usage: Usage
    model: str
    notes: tuple[str, ...] = ()


class LanguageModel(Protocol):
    """Answers a prompt with a value of the requested type."""

    @property
    def name(self) -> str: ...

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Generate an answer.

        Args:
            prompt: the request.
            answer_type: ``str``, or a dataclass whose fields are the JSON schema of the answer.
            check: raises ValueError if the answer breaks an invariant. The model sees the message and may try again.

        Raises:
            InvalidReply: no answer met the schema and the check.
            LimitReached: the granted tokens are used up.
            ModelUnavailable: the model could not be reached.
            NoAnswer: the model refused, or returned nothing.
        """
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Generate plain text, piece by piece.

        Raises:
            LimitReached, ModelUnavailable: as :meth:`generate`.
        """
        ...
