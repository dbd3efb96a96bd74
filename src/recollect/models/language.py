"""The seam to language models: one verb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from recollect.domain.usage import Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[T]):
    """A model's typed answer and what it cost."""

    value: T
    usage: Usage
    model: str


class LanguageModel(Protocol):
    """Answers a prompt with a value of the type asked for."""

    @property
    def name(self) -> str: ...

    async def generate(self, prompt: str, answer_type: type[T]) -> Reply[T]:
        """Generate an answer of ``answer_type``.

        Raises:
            ModelUnavailable: the model could not be reached, or never gave a valid answer.
        """
        ...
