"""Read settings from the environment and from a file.

An argument takes precedence over the environment, and the environment over the file. The file is ``recollect.toml`` in
the store's folder, or the file that ``RECOLLECT_CONFIG`` names::

    embedder = "wordllama"
    limits = "2M/day,extract=500k/day"       # or a table: default, and a bank's own under its name
    open_banks = 100                         # the maximum number of open banks
    model = "openai:gpt-5-mini"              # or a table: name, base_url, api_key_env, timeout, temperature, ...

    [models.assist]                          # the model of one role
    name = "openai:qwen3-4b"
    base_url = "http://localhost:8000/v1"

The file does not contain keys: ``api_key_env`` names the environment variable that has the key.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from recollect.domain.limits import Limit, parse_limits
from recollect.errors import InvalidInput
from recollect.models.keys import hide_credentials
from recollect.models.language import ModelRole
from recollect.models.languages.settings import CallSettings
from recollect.recall.settings import Arm
from recollect.store.stores import OpenLimits

CONFIG_FILE: Final = "recollect.toml"
NONE: Final = "none"  # TOML has no null
DEFAULT: Final = "default"

LimitsArgument = str | Sequence[Limit] | Mapping[str, str | Sequence[Limit]]

_OPEN: Final = {"open_banks": "banks", "open_megabytes": "megabytes"}  # settings, and the fields of OpenLimits
_KNOWN: Final = ("embedder", "reranker", "time_reader", "recipe", "limits", "cache", *_OPEN, "model", "models")
_CALL: Final = tuple(one.name for one in fields(CallSettings))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelSpec:
    """The choice of a language model: its name (``provider:model``), its address, its key, and its call settings.

    If ``call`` is ``None``, the model has the call settings of the default model.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    call: CallSettings | None = None

    def __repr__(self) -> str:
        return _render_without_keys(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """The settings from a command line, the environment and a file. Functions in this room find the parts by their
    names.

    If ``embedder`` is ``None``, the default embedder is used. If ``arms`` is ``None``, the arms of the recipe are used.
    ``api_key`` is for endpoints, and is never shown.

    ``model`` is the language model for every role that is not in ``models``. Its address is ``base_url``, its key is
    ``model_key`` or else ``api_key``, and its call settings are ``call``. ``cache`` is the folder of the reply cache.
    ``limits`` are the limits of each bank, by its name. ``default`` is for all other banks. ``open_limits`` restrict
    how much the store keeps open at a time.
    """

    store: str = "./recollect-data"
    embedder: str | None = None
    reranker: str = "none"
    time_reader: str = "none"
    recipe: str = "default"
    arms: tuple[Arm, ...] | None = None
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    base_url: str | None = None
    model_key: str | None = field(default=None, repr=False)
    call: CallSettings = CallSettings()
    models: Mapping[ModelRole, ModelSpec] = field(default_factory=dict)
    limits: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)
    cache: str | None = None
    open_limits: OpenLimits = OpenLimits()

    def __repr__(self) -> str:
        return _render_without_keys(self)


def _render_without_keys(value: ModelSpec | Settings) -> str:
    """Return the representation of settings without the fields of keys, and without keys in addresses."""
    shown = ", ".join(f"{one.name}={getattr(value, one.name)!r}" for one in fields(value) if one.repr)
    return hide_credentials(f"{type(value).__name__}({shown})")


def load_settings(environ: Mapping[str, str], *, store: str | None = None) -> Settings:
    """Return the settings from the environment and from the file of the store. An empty value counts as not set.

    Variables: ``RECOLLECT_STORE``, ``_CONFIG``, ``_EMBEDDER``, ``_RERANKER``, ``_TIME_READER``, ``_RECIPE``,
    ``_API_KEY``, ``_BASE_URL``, ``_MODEL``, ``_MODEL_EXTRACT`` (and the same for each role), ``_MODEL_TIMEOUT``,
    ``_LIMITS``, ``_CACHE``, ``_OPEN_BANKS``, ``_OPEN_MEGABYTES``.

    Args:
        environ: the environment.
        store: the store that a command or a caller names.

    Raises:
        InvalidInput: a value cannot be used, or the file cannot be read.
    """
    given = {name: value for name, value in environ.items() if name.startswith("RECOLLECT_") and value}
    place = store or given.get("RECOLLECT_STORE") or Settings().store
    path = _find_config(given.get("RECOLLECT_CONFIG"), place)
    filed = Settings() if path is None else _read_file(path, environ)
    return _override(replace(filed, store=place), given)


def _override(from_file: Settings, from_environment: Mapping[str, str]) -> Settings:
    """Return the settings of the file, replaced by those of the environment. Own values of roles and banks in the file
    stay.
    """
    own = {role: from_environment.get(f"RECOLLECT_MODEL_{role.upper()}") for role in ModelRole}
    models = {**from_file.models, **{role: ModelSpec(name=name) for role, name in own.items() if name}}
    call = from_file.call
    if timeout := from_environment.get("RECOLLECT_MODEL_TIMEOUT"):
        call = replace(call, timeout=_parse_seconds(timeout))
        models = {role: _with_timeout(spec, call.timeout) for role, spec in models.items()}
    if model := from_environment.get(
        "RECOLLECT_MODEL"
    ):  # the address and the key in the file belong to the model in the file
        from_file = replace(from_file, model=model, base_url=None, model_key=None)
    limits = from_environment.get("RECOLLECT_LIMITS")
    return replace(
        from_file,
        embedder=from_environment.get("RECOLLECT_EMBEDDER", from_file.embedder),
        reranker=from_environment.get("RECOLLECT_RERANKER", from_file.reranker),
        time_reader=from_environment.get("RECOLLECT_TIME_READER", from_file.time_reader),
        recipe=from_environment.get("RECOLLECT_RECIPE", from_file.recipe),
        api_key=from_environment.get("RECOLLECT_API_KEY"),
        base_url=from_environment.get("RECOLLECT_BASE_URL", from_file.base_url),
        call=call,
        models=models,
        limits=from_file.limits if limits is None else {**from_file.limits, **normalize_limits(limits)},
        cache=from_environment.get("RECOLLECT_CACHE", from_file.cache),
        open_limits=replace(from_file.open_limits, **_given_open_limits(from_environment)),
    )


def normalize_limits(given: LimitsArgument) -> Mapping[str, tuple[Limit, ...]]:
    """Return limits by the names of banks. Limits for all banks are under ``default``.

    Raises:
        InvalidInput: a limit cannot be read, or its role does not exist.
    """
    if not isinstance(given, Mapping):
        given = {DEFAULT: given}
    return {
        unicodedata.normalize("NFC", bank): read_limits(own) if isinstance(own, str) else tuple(own)
        for bank, own in given.items()
    }


def read_limits(text: str) -> tuple[Limit, ...]:
    """Read limits from a text such as ``2M/day,extract=500k/day,10M``.

    Raises:
        InvalidInput: a limit cannot be read, or its role does not exist.
    """
    limits = parse_limits(text)
    for limit in limits:
        if limit.role is not None:
            parse_role(limit.role)
    return limits


def parse_role(name: str) -> ModelRole:
    """Return a role by its name.

    Raises:
        InvalidInput: there is no role of this name.
    """
    try:
        return ModelRole(name)
    except ValueError:
        raise InvalidInput(f"there is no role {name!r}. The roles are: {', '.join(ModelRole)}") from None


def _given_open_limits(given: Mapping[str, str]) -> dict[str, int]:
    variables = {"RECOLLECT_OPEN_BANKS": "banks", "RECOLLECT_OPEN_MEGABYTES": "megabytes"}
    try:
        return {field: int(given[variable]) for variable, field in variables.items() if variable in given}
    except ValueError:
        raise InvalidInput(f"{' and '.join(variables)} must be whole numbers") from None


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"RECOLLECT_MODEL_TIMEOUT is {text!r}. It must be a number of seconds") from None


def _with_timeout(spec: ModelSpec, timeout: float) -> ModelSpec:
    return spec if spec.call is None else replace(spec, call=replace(spec.call, timeout=timeout))


def _find_config(named: str | None, store: str) -> Path | None:
    """Return the file to read, or ``None`` if there is none.

    Raises:
        InvalidInput: the file that ``RECOLLECT_CONFIG`` names does not exist.
    """
    if named is None:
        path = Path(store) / CONFIG_FILE
        return path if path.is_file() else None
    path = Path(named).expanduser()
    if not path.is_file():
        raise InvalidInput(f"RECOLLECT_CONFIG names {named}, but there is no such file")
    return path


def _read_file(path: Path, environ: Mapping[str, str]) -> Settings:
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        return _parse_file(told, path.parent, environ)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise InvalidInput(f"{path} cannot be read: {exc}") from exc
    except InvalidInput as exc:
        raise InvalidInput(f"{path}: {exc}") from exc


def _parse_file(table: Mapping[str, Any], folder: Path, environ: Mapping[str, str]) -> Settings:
    _require_known(table, _KNOWN, "a setting")
    default = Settings()
    settings = Settings(
        embedder=_read_text(table, "embedder") if "embedder" in table else default.embedder,
        reranker=_read_text(table, "reranker") if "reranker" in table else default.reranker,
        time_reader=_read_text(table, "time_reader") if "time_reader" in table else default.time_reader,
        recipe=_read_text(table, "recipe") if "recipe" in table else default.recipe,
        limits=_parse_file_limits(table["limits"]) if "limits" in table else default.limits,
        cache=str(folder / Path(_read_text(table, "cache")).expanduser()) if "cache" in table else default.cache,
        open_limits=OpenLimits(**{field: _number(table, name) for name, field in _OPEN.items() if name in table}),
    )
    if "model" in table:
        spec = _parse_model_spec(table["model"], CallSettings(), environ)
        settings = replace(
            settings,
            model=spec.name,
            base_url=spec.base_url,
            model_key=spec.api_key,
            call=spec.call or settings.call,
        )
    models = table.get("models", {})
    if not isinstance(models, dict):
        raise InvalidInput("models must be a table of roles")
    return replace(
        settings,
        models={parse_role(role): _parse_model_spec(one, settings.call, environ) for role, one in models.items()},
    )


def _parse_file_limits(value: object) -> Mapping[str, tuple[Limit, ...]]:
    """Return the limits in the file: a text for all banks, or a table of banks."""
    if not isinstance(value, dict):
        return normalize_limits(_read_text({"limits": value}, "limits"))
    return normalize_limits({bank: _read_text(value, bank, empty=True) for bank in value})


def _parse_model_spec(value: object, call: CallSettings, environ: Mapping[str, str]) -> ModelSpec:
    """Return a model in the file: a name, or a table."""
    if isinstance(value, str):
        return ModelSpec(name=value)
    if not isinstance(value, dict) or "name" not in value:
        raise InvalidInput("a model must be PROVIDER:MODEL, or a table with a name")
    if "api_key" in value:
        raise InvalidInput(
            "a key must not be in a file. Put it into an environment variable, and name the variable in api_key_env"
        )
    _require_known(value, ("name", "base_url", "api_key_env", *_CALL), "a setting of a model")
    own = {name: None if value == NONE else value for name, value in value.items() if name in _CALL}
    return ModelSpec(
        name=_read_text(value, "name"),
        base_url=_read_text(value, "base_url") if "base_url" in value else None,
        api_key=_read_key(_read_text(value, "api_key_env"), environ) if "api_key_env" in value else None,
        call=_parse_call_settings(call, own) if own else None,
    )


def _parse_call_settings(call: CallSettings, own: Mapping[str, Any]) -> CallSettings:
    try:
        return replace(call, **own)
    except TypeError as exc:
        raise InvalidInput(f"{', '.join(own)}: {exc}") from exc


def _read_key(name: str, environ: Mapping[str, str]) -> str:
    key = environ.get(name)
    if not key:
        raise InvalidInput(f"api_key_env names {name}, which is not set")
    return key


def _read_text(table: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = table[name]
    if not isinstance(value, str) or not (value or empty):
        raise InvalidInput(f"{name} is {value!r}. It must be a text")
    return value


def _number(told: Mapping[str, Any], name: str) -> int:
    value = told[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{name} is {value!r}. It must be a whole number")
    return value


def _require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    if unknown := sorted(set(names) - set(known)):
        raise InvalidInput(f"{unknown[0]!r} is not {what}. Choose one of: {', '.join(known)}")
