"""Read the names of language models: ``provider:model``, or ``provider:model@base_url`` for an address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from recollect.errors import InvalidInput
from recollect.models.keys import hide_credentials

LOCAL: Final = "local"
"""The provider of models that run in this process."""

_NAME: Final = re.compile(r"(?P<provider>[a-z][a-z0-9./-]*):(?P<model>\S(?:.*?\S)??)(?:@(?P<url>https?://\S+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName:
    """The parts of a name. ``base_url`` is the address in the name, if any."""

    provider: str
    model: str
    base_url: str | None = None

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_model_name(name: str) -> ModelName:
    """Return the parts of a name.

    Raises:
        InvalidInput: the text does not have this form.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise InvalidInput(
            f"the model {hide_credentials(name)!r} is not PROVIDER:MODEL, for example openai:gpt-5-mini, "
            "anthropic:claude-haiku-4-5 or google:gemini-2.5-flash; for an OpenAI-compatible server of your "
            "own openai:MODEL, with its base URL"
        )
    return ModelName(provider=found["provider"], model=found["model"], base_url=found["url"])
