"""A model for each role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TypeVar

from recollect.models.language import Check, LanguageModel, Prompt, Reply, Role
from recollect.models.languages.states import beside

T = TypeVar("T")


class ByRole:
    """Hands each prompt to the model of its role.

    Args:
        models: roles that have a model of their own.
        default: for the others.
    """

    def __init__(self, models: Mapping[Role, LanguageModel], default: LanguageModel) -> None:
        self._models, self._default = dict(models), default

    @property
    def name(self) -> str:
        """The default model's; a reply names the model that gave it."""
        return self._default.name

    def of(self, role: Role) -> LanguageModel:
        return self._models.get(role, self._default)

    def beside(self, folder: Path) -> ByRole:
        """The same with the states of those models that keep some in this folder."""
        models = {role: beside(model, folder) for role, model in self._models.items()}
        return ByRole(models, beside(self._default, folder))

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer with the role's model, which may raise what a model may."""
        return await self.of(prompt.role).generate(prompt, answer_type, check=check)

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Generate plain text with the role's model, piece by piece."""
        return self.of(prompt.role).stream(prompt)


def of_role(model: LanguageModel, role: Role) -> LanguageModel:
    """The model that answers for a role."""
    return model.of(role) if isinstance(model, ByRole) else model
