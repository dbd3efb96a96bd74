"""The seam to language models: a prompt in, a typed answer out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from recollect.domain.usage import Usage

T = TypeVar("T")

Check = Callable[[T], None]


class Role(StrEnum):
    """What a model is called for; each role can have a model of its own."""

    EXTRACT = "extract"
    CONSOLIDATE = "consolidate"
    REFLECT = "reflect"
    ANSWER = "answer"
    ASSIST = "assist"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked.

    ``operation`` is what asks ("hindsight.observe"), ``subject`` what it asks about (a session, an entity, a
    question): both are for the ledger and for recordings, and never reach the model. ``system`` holds instructions
    alone; ``prefix`` and ``text`` may hold memory, fenced (:mod:`recollect.text.fence`). ``prefix`` is what stays the
    same from call to call, such as a segment that many questions are asked about: with ``system`` it is read once where
    a model can keep what it has read (E-mem, 3.5).
    """

    role: Role
    operation: str
    subject: str
    system: str
    text: str
    prefix: str = ""

    @property
    def asked(self) -> str:
        """All that a model is asked: the prefix, and the text right after it."""
        return self.prefix + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[T]):
    """A model's typed answer and what it cost, failed attempts included; ``notes`` say what did not go as meant."""

    value: T
    usage: Usage
    model: str
    notes: tuple[str, ...] = ()


class LanguageModel(Protocol):
    """Answers a prompt with a value of the type asked for."""

    @property
    def name(self) -> str: ...

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer.

        Args:
            prompt: what is asked.
            answer_type: ``str``, or a dataclass whose fields are the answer's JSON schema.
            check: raises ValueError where the answer breaks an invariant; the message is shown to the model, which
                may try again.

        Raises:
            InvalidReply: no answer met the schema and the check.
            LimitReached: the tokens granted are used up.
            ModelUnavailable: the model could not be reached.
            NoAnswer: it refused, or gave nothing.
        """
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Generate plain text, piece by piece.

        Raises:
            LimitReached, ModelUnavailable: as :meth:`generate`.
        """
        ...
