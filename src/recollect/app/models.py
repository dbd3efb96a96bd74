"""Make language models from settings and arguments. An adapter is imported when the first model of its kind is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.app.settings import DEFAULT, NONE, ModelSpec, Settings, parse_role
from recollect.errors import InvalidInput
from recollect.models.language import LanguageModel, ModelRole
from recollect.models.languages.model_names import LOCAL, parse_model_name
from recollect.models.languages.role_models import RoleModels
from recollect.models.languages.settings import CallSettings
from recollect.models.languages.unconfigured import UnconfiguredModel

OWN_SERVER = "openai"

ModelArgument = LanguageModel | str | Mapping[ModelRole | str, LanguageModel | str]


def build_language_model(settings: Settings) -> LanguageModel:
    """Return the language model of the settings. If roles have their own models, it selects the model by role.

    ``base_url`` and the key belong to the default model. The model of a role shares them if it has the same provider
    and no address of its own. For models of other providers, the provider's library finds the key.

    Raises:
        InvalidInput: a name is not ``none``, ``provider:model`` or ``provider:model@base_url``.
    """
    shelf = _ModelFactory(settings)
    default = shelf.build(ModelSpec(name=settings.model or NONE))
    if not settings.models:
        return default
    return RoleModels({role: shelf.build(spec) for role, spec in settings.models.items()}, default)


def choose_model(given: ModelArgument | None, settings: Settings) -> LanguageModel:
    """Return the language model of an argument, or that of the settings if there is no argument.

    A name replaces the default model. A mapping replaces all models. Its key ``default`` is for the roles that it does
    not name.

    Raises:
        InvalidInput: a name or a role is unknown.
    """
    if given is None:
        return build_language_model(settings)
    if isinstance(given, str):
        return build_language_model(replace(settings, model=given))
    if not isinstance(given, Mapping):
        return given
    default = given.get(DEFAULT, NONE)
    shelf = _ModelFactory(replace(settings, model=default if isinstance(default, str) else None))
    roles = {parse_role(role): shelf.resolve(one) for role, one in given.items() if role != DEFAULT}
    return RoleModels(roles, shelf.resolve(default))


def build_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    call: CallSettings | None = None,
    cache: str | None = None,
) -> LanguageModel:
    """Return a language model by its name. Nothing is loaded or called yet.

    The name can be ``none``. It can be ``openai:gpt-5-mini``, ``anthropic:...``, ``google:...`` or another provider of
    pydantic-ai. It can be ``openai:qwen3@http://localhost:8000/v1`` for any OpenAI-compatible server. Or it can be
    ``local:Qwen/Qwen3-4B`` or ``local:./folder`` for a model that runs in this process.

    Raises:
        InvalidInput: the name has none of these forms.
    """
    if name == NONE:
        return UnconfiguredModel()
    call = call or CallSettings()
    if name.startswith(f"{LOCAL}:"):
        model = _build_local_model(name, base_url, call)
    else:
        model = _build_remote_model(name, base_url, api_key, call)
    if cache is None:
        return model
    from recollect.models.languages.cached import CachedModel

    variant = f"{base_url} {call.structured} {call.temperature} {call.max_tokens}"
    return CachedModel(model, cache, variant=variant)


def _build_remote_model(name: str, base_url: str | None, api_key: str | None, call: CallSettings) -> LanguageModel:
    from recollect.models.languages.pydantic_ai import PydanticModel

    return PydanticModel(name, base_url=base_url, api_key=api_key, settings=call)


def _build_local_model(name: str, base_url: str | None, call: CallSettings) -> LanguageModel:
    """Return a model that runs in this process. A name that looks like a path is a folder and not a name on the model
    hub.

    Raises:
        InvalidInput: an address was given.
    """
    from recollect.models.languages.local import LocalModel

    parsed = parse_model_name(name)
    if address := base_url or parsed.base_url:
        raise InvalidInput(f"{parsed} runs in this process and has no address, but {address} was given")
    source = parsed.model
    return LocalModel(Path(source).expanduser() if source.startswith((".", "/", "~")) else source, settings=call)


def build_rehearsal_model(base_url: str) -> LanguageModel:
    """Return the model behind a recording, real or replayed. Its requests have tags, and may take an hour."""
    call = CallSettings(structured="schema", timeout=3600.0, tags=True)
    return build_model("openai:recorded", base_url=base_url, api_key="none", call=call)


@dataclass(frozen=True, slots=True)
class _ModelFactory:
    """Creates each model once, so that roles with the same model share it and its limit on concurrency."""

    settings: Settings
    built: dict[tuple[object, ...], LanguageModel] = field(default_factory=dict)

    def resolve(self, given: LanguageModel | str) -> LanguageModel:
        return self.build(ModelSpec(name=given)) if isinstance(given, str) else given

    def build(self, spec: ModelSpec) -> LanguageModel:
        spec = self._with_defaults(spec)
        call = spec.call or self.settings.call
        key = (spec.name, spec.base_url, spec.api_key, call)
        if key not in self.built:
            self.built[key] = build_model(
                spec.name, base_url=spec.base_url, api_key=spec.api_key, call=call, cache=self.settings.cache
            )
        return self.built[key]

    def _with_defaults(self, spec: ModelSpec) -> ModelSpec:
        """Return the spec with its own address and key, or with those that it shares with the default model."""
        if spec.name == NONE:
            return spec
        name, settings = parse_model_name(spec.name), self.settings
        own = spec.base_url or name.base_url
        spec = replace(spec, name=str(name), base_url=own)
        default = None if settings.model in (None, NONE) else parse_model_name(settings.model)
        home = settings.base_url if default is None else default.base_url or settings.base_url
        owner = OWN_SERVER if default is None else default.provider
        if name.provider != owner or own not in (None, home):
            return spec
        return replace(spec, base_url=home, api_key=spec.api_key or settings.model_key or settings.api_key)
