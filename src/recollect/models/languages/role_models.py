"""Choose a language model for each role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TypeVar

from recollect.models.language import LanguageModel, ModelRole, Prompt, Reply, ReplyCheck
from recollect.models.languages.reply_cache import list_cache_folders
from recollect.models.languages.states import with_state_folder

T = TypeVar("T")


class RoleModels:
    """Gives each prompt to the model of its role.

    Args:
        models: the roles that have their own model.
        default: the model for the other roles.
    """

    def __init__(self, models: Mapping[ModelRole, LanguageModel], default: LanguageModel) -> None:
        self._models, self._default = dict(models), default

    @property
    def name(self) -> str:
        """Return the name of the default model. A reply names the model that wrote it."""
        return self._default.name

    def model_for(self, role: ModelRole) -> LanguageModel:
        return self._models.get(role, self._default)

    def cache_folders(self) -> frozenset[Path]:
        """Return the folders in which these models keep replies."""
        return frozenset().union(*map(list_cache_folders, (*self._models.values(), self._default)))

    def with_state_folder(self, folder: Path) -> RoleModels:
        """Return the same models, with the states of those that keep states in this folder."""
        models = {role: with_state_folder(model, folder) for role, model in self._models.items()}
        return RoleModels(models, with_state_folder(self._default, folder))

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Generate an answer with the model of the role. It raises the errors of that model."""
        return await self.model_for(prompt.role).generate(prompt, answer_type, check=check)

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Generate plain text with the model of the role, piece by piece."""
        return self.model_for(prompt.role).stream(prompt)


def choose_for_role(model: LanguageModel, role: ModelRole) -> LanguageModel:
    """Return the model that answers for a role."""
    return model.model_for(role) if isinstance(model, RoleModels) else model
