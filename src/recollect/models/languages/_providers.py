"""Find a model by its name, and translate the errors of pydantic-ai."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import MissingExtra, ModelUnavailable
from recollect.models.keys import list_url_keys
from recollect.models.languages.model_names import ModelName

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

OPENAI: Final = ("openai", "openai-chat")

_EXTRAS: Final = {"openai": "models", "anthropic": "anthropic", "google": "google"}
_PROVIDERS_WITH_MARKS: Final = (
    "openai_supports_prompt_cache_breakpoints",
    "bedrock_supports_prompt_caching",
    "openrouter_supports_cache_control",
)
_ADDRESSES: Final = ("base_url", "api_base", "azure_endpoint", "api_host")


def find_model(name: ModelName, base_url: str | None, api_key: str | None) -> Model[Any]:
    """Return the model. Nothing is sent yet.

    OpenAI and compatible servers get chat completions. A key in the environment (such as ``OPENAI_API_KEY``) goes only
    to its own provider, and never to another base URL.

    Raises:
        MissingExtra: the package of the provider is not installed.
        ModelUnavailable: the provider does not exist, has no key, or takes no base URL.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as exc:
        raise MissingExtra("pydantic-ai-slim", "models") from exc
    try:
        if name.provider in OPENAI:
            return _build_openai_model(name.model, base_url, api_key)
        return infer_model(str(name), lambda kind: _build_provider(kind, base_url, api_key))
    except ImportError as exc:
        if extra := _EXTRAS.get(name.provider.partition("-")[0]):
            raise MissingExtra(f"the package for {name.provider} models", extra) from exc
        raise ModelUnavailable(f"{name} cannot be used: {exc}") from exc
    except (UserError, ValueError) as exc:
        words = str(exc).partition(" To try Pydantic AI")[0]  # the rest of the message is for users of pydantic-ai
        raise ModelUnavailable(f"{name} cannot be used: {words}") from exc


def _build_openai_model(model: str, base_url: str | None, api_key: str | None) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if base_url is None:
        return OpenAIChatModel(model, provider=OpenAIProvider(api_key=api_key))
    # Requests show what a private server supports. All servers know max_tokens, few know its successor.
    profile = OpenAIModelProfile(supports_json_schema_output=True, openai_chat_supports_max_completion_tokens=False)
    provider = OpenAICompatibleProvider("openai", base_url=base_url, api_key=api_key)
    return OpenAIChatModel(model, provider=provider, profile=profile)


def _build_provider(kind: str, base_url: str | None, api_key: str | None) -> Provider[Any]:
    """Return the provider with the address and the key, under the names that this provider uses for them."""
    from pydantic_ai.providers import infer_provider, infer_provider_class

    if base_url is None and api_key is None:
        return infer_provider(kind)
    make = infer_provider_class(kind)
    takes = inspect.signature(make).parameters
    given: dict[str, str] = {}
    if api_key is not None:
        given["api_key"] = api_key
    if base_url is not None:
        address = next((name for name in _ADDRESSES if name in takes), None)
        if address is None:
            raise ValueError(f"models of {kind} are at a fixed address; they take no base URL")
        given[address] = base_url
    return make(**given)


def list_secret_keys(model: Model[Any], api_key: str | None, base_url: str | None) -> tuple[str, ...]:
    """Return the keys that must not be shown: the given key, keys in the address, and those that the provider found."""
    client = getattr(model, "client", None)
    places = (client, getattr(client, "_api_client", None), getattr(model, "provider", None))
    names = ("api_key", "auth_token", "_api_key")
    found = (api_key, *list_url_keys(base_url), *(getattr(place, name, None) for place in places for name in names))
    return tuple({key for key in found if isinstance(key, str) and key})


def accepts_temperature(model: Model[Any]) -> bool:
    """Return true if the model accepts a temperature. Reasoning models refuse it."""
    profile: dict[str, Any] = {**model.profile}
    return not (profile.get("openai_supports_reasoning") or profile.get("anthropic_disallows_sampling_settings"))


def accepts_cache_marks(model: Model[Any]) -> bool:
    """Return true if a prompt may mark the end of the part to cache. Other providers cache the beginning by
    themselves.
    """
    profile: dict[str, Any] = {**model.profile}
    return model.system == "anthropic" or any(profile.get(flag) for flag in _PROVIDERS_WITH_MARKS)
