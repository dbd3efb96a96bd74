"""Choose a language model for each role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TypeVar

from recollect.models.language import Check, LanguageModel, Prompt, Reply, Role
from recollect.models.languages.states import beside

T = TypeVar("T")


class ByRole:
    """Gives each prompt to the model of its role.

    Args:
        models: the roles that have their own model.
        default: the model for the other roles.
    """

    def __init__(self, models: Mapping[Role, LanguageModel], default: LanguageModel) -> None:
        self._models, self._default = dict(models), default

    @property
    def name(self) -> str:
        """Return the name of the default model. A reply names the model that wrote it."""
        return self._default.name

    def of(self, role: Role) -> LanguageModel:
        return self._models.get(role, self._default)

    def beside(self, folder: Path) -> ByRole:
        """Return the same models, with the states of those that keep states in this folder."""
        models = {role: beside(model, folder) for role, model in self._models.items()}
        return ByRole(models, beside(self._default, folder))

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer with the model of the role. It raises the errors of that model."""
        return await self.of(prompt.role).generate(prompt, answer_type, check=check)

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Generate plain text with the model of the role, piece by piece."""
        return self.of(prompt.role).stream(prompt)


def of_role(model: LanguageModel, role: Role) -> LanguageModel:
    """Return the model that answers for a role."""
    return model.of(role) if isinstance(model, ByRole) else model
