"""What a question costs, whatever becomes of the way that it was spent on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

from recollect.domain.usage import Usage
from recollect.errors import ModelError
from recollect.models.language import Check, LanguageModel, Prompt, Reply

T = TypeVar("T")


class Tallied:
    """A language model with what it was used for since: ``usage``, failed calls included, and ``models`` by name."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.usage = Usage()
        self.models: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """See :class:`recollect.models.language.LanguageModel`."""
        try:
            reply = await self._model.generate(prompt, answer_type, check=check)
        except ModelError as exc:
            self.usage += exc.usage if isinstance(exc.usage, Usage) else Usage()
            raise
        self.usage += reply.usage
        self.models = tuple(dict.fromkeys((*self.models, reply.model)))
        return reply

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """See :class:`recollect.models.language.LanguageModel`."""
        return self._model.stream(prompt)
