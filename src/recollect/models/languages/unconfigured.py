"""The language model that is used when none is configured."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NoReturn, TypeVar

from recollect.errors import NoModel
from recollect.models.language import ModelRole, Prompt, Reply, ReplyCheck

T = TypeVar("T")


class UnconfiguredModel:
    """Takes the place of a language model. Every call raises an error that says how to configure one."""

    @property
    def name(self) -> str:
        return "none"

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Generate nothing.

        Raises:
            NoModel: always.
        """
        self._refuse(prompt)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Generate nothing.

        Raises:
            NoModel: always.
        """
        self._refuse(prompt)
        yield  # makes this function a generator

    def _refuse(self, prompt: Prompt) -> NoReturn:
        raise no_model(prompt.operation, prompt.role)


def no_model(operation: str, role: ModelRole) -> NoModel:
    """Return the error that says which model is missing, and how to configure one."""
    return NoModel(
        f"{operation} needs a language model for the role {role}, and none is configured: set "
        "RECOLLECT_MODEL=PROVIDER:MODEL (openai, anthropic, google, ollama and others; for a server of your own "
        "openai:MODEL, with RECOLLECT_BASE_URL), or give Memory.open(..., model=...)"
    )
