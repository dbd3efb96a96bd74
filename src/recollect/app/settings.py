"""What the environment and a file choose.

An argument comes before the environment, the environment before the file. The file is ``recollect.toml`` in the
store's folder, or the one that ``RECOLLECT_CONFIG`` names::

    embedder = "wordllama"
    limits = "2M/day,extract=500k/day"       # or a table: default, and a bank's own under its name
    open_banks = 100                         # how many are open at a time
    model = "openai:gpt-5-mini"              # or a table: name, base_url, api_key_env, timeout, temperature, ...

    [models.assist]                          # a role's own
    name = "openai:qwen3-4b"
    base_url = "http://localhost:8000/v1"

Keys are not kept in it: ``api_key_env`` names the environment's variable that holds one.
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
from recollect.models.language import ModelRole
from recollect.models.languages.settings import CallSettings
from recollect.recall.settings import Arm
from recollect.store.stores import OpenLimits

CONFIG_FILE: Final = "recollect.toml"
NONE: Final = "none"  # TOML has no word for nothing
DEFAULT: Final = "default"

LimitsArgument = str | Sequence[Limit] | Mapping[str, str | Sequence[Limit]]

_OPEN: Final = {"open_banks": "banks", "open_megabytes": "megabytes"}  # settings, and the fields of OpenLimits
_KNOWN: Final = ("embedder", "reranker", "time_reader", "recipe", "limits", "cache", *_OPEN, "model", "models")
_CALL: Final = tuple(one.name for one in fields(CallSettings))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A language model as it is chosen: ``provider:model``, where it is, its key, and how to call it.

    ``call`` is ``None`` where it is called as the default model is.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    call: CallSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a command line, the environment and a file choose; names are read by the functions beside this module.

    ``embedder`` is the default one where it is ``None``, and ``arms`` are those of the recipe. ``api_key`` goes to
    endpoints, and is never shown. ``model`` is the language model for every role that has none of its own in
    ``models``; it is at ``base_url``, takes ``model_key`` (else ``api_key``) and is called as ``call`` says. ``cache``
    is the folder of the reply cache. ``limits`` are those of each bank that has its own, and under ``default`` those of
    all others. ``open_limits`` say how much the store holds open at a time.
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


def load_settings(environ: Mapping[str, str], *, store: str | None = None) -> Settings:
    """Settings from the environment, and from the file of the store; an empty value is none.

    Variables: ``RECOLLECT_STORE``, ``_CONFIG``, ``_EMBEDDER``, ``_RERANKER``, ``_TIME_READER``, ``_RECIPE``,
    ``_API_KEY``, ``_BASE_URL``, ``_MODEL``, ``_MODEL_EXTRACT`` and so for each role, ``_MODEL_TIMEOUT``, ``_LIMITS``,
    ``_CACHE``, ``_OPEN_BANKS``, ``_OPEN_MEGABYTES``.

    Args:
        environ: the environment.
        store: where a command or a caller says that the store is.

    Raises:
        InvalidInput: a value cannot be used, or the file cannot be read.
    """
    given = {name: value for name, value in environ.items() if name.startswith("RECOLLECT_") and value}
    place = store or given.get("RECOLLECT_STORE") or Settings().store
    path = _find_config(given.get("RECOLLECT_CONFIG"), place)
    filed = Settings() if path is None else _read_file(path, environ)
    return _override(replace(filed, store=place), given)


def _override(from_file: Settings, from_environment: Mapping[str, str]) -> Settings:
    """What the environment says, over what the file says; what a role or a bank has of its own in the file stays."""
    own = {role: from_environment.get(f"RECOLLECT_MODEL_{role.upper()}") for role in ModelRole}
    models = {**from_file.models, **{role: ModelSpec(name=name) for role, name in own.items() if name}}
    call = from_file.call
    if timeout := from_environment.get("RECOLLECT_MODEL_TIMEOUT"):
        call = replace(call, timeout=_parse_seconds(timeout))
        models = {role: _with_timeout(spec, call.timeout) for role, spec in models.items()}
    if model := from_environment.get("RECOLLECT_MODEL"):  # the file's address and key are those of the file's model
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
    """Limits by the names of banks; what is given for all of them is under ``default``.

    Raises:
        InvalidInput: one cannot be read, or is of a role that there is not.
    """
    if not isinstance(given, Mapping):
        given = {DEFAULT: given}
    return {
        unicodedata.normalize("NFC", bank): read_limits(own) if isinstance(own, str) else tuple(own)
        for bank, own in given.items()
    }


def read_limits(text: str) -> tuple[Limit, ...]:
    """Limits as they are written: ``2M/day,extract=500k/day,10M``.

    Raises:
        InvalidInput: one cannot be read, or is of a role that there is not.
    """
    limits = parse_limits(text)
    for limit in limits:
        if limit.role is not None:
            parse_role(limit.role)
    return limits


def parse_role(name: str) -> ModelRole:
    """A role by its name.

    Raises:
        InvalidInput: there is none of that name.
    """
    try:
        return ModelRole(name)
    except ValueError:
        raise InvalidInput(f"no role {name!r}; there are: {', '.join(ModelRole)}") from None


def _given_open_limits(given: Mapping[str, str]) -> dict[str, int]:
    variables = {"RECOLLECT_OPEN_BANKS": "banks", "RECOLLECT_OPEN_MEGABYTES": "megabytes"}
    try:
        return {field: int(given[variable]) for variable, field in variables.items() if variable in given}
    except ValueError:
        raise InvalidInput(f"{' and '.join(variables)} are whole numbers") from None


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"RECOLLECT_MODEL_TIMEOUT is {text!r}; it is a number of seconds") from None


def _with_timeout(spec: ModelSpec, timeout: float) -> ModelSpec:
    return spec if spec.call is None else replace(spec, call=replace(spec.call, timeout=timeout))


def _find_config(named: str | None, store: str) -> Path | None:
    """The file to read, if there is one.

    Raises:
        InvalidInput: the file that was named is not there.
    """
    if named is None:
        path = Path(store) / CONFIG_FILE
        return path if path.is_file() else None
    path = Path(named).expanduser()
    if not path.is_file():
        raise InvalidInput(f"RECOLLECT_CONFIG names {named}, and there is no such file")
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
        raise InvalidInput("models is a table of roles")
    return replace(
        settings,
        models={parse_role(role): _parse_model_spec(one, settings.call, environ) for role, one in models.items()},
    )


def _parse_file_limits(value: object) -> Mapping[str, tuple[Limit, ...]]:
    """Limits as the file tells of them: a text for all banks, or a table of banks."""
    if not isinstance(value, dict):
        return normalize_limits(_read_text({"limits": value}, "limits"))
    return normalize_limits({bank: _read_text(value, bank, empty=True) for bank in value})


def _parse_model_spec(value: object, call: CallSettings, environ: Mapping[str, str]) -> ModelSpec:
    """A model as the file tells of it: a name, or a table."""
    if isinstance(value, str):
        return ModelSpec(name=value)
    if not isinstance(value, dict) or "name" not in value:
        raise InvalidInput("a model is PROVIDER:MODEL, or a table with a name")
    if "api_key" in value:
        raise InvalidInput("a key does not belong into a file; api_key_env names the variable that holds it")
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
        raise InvalidInput(f"{name} is {value!r}; it is a text")
    return value


def _number(told: Mapping[str, Any], name: str) -> int:
    value = told[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{name} is {value!r}; it is a whole number")
    return value


def _require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    if unknown := sorted(set(names) - set(known)):
        raise InvalidInput(f"{unknown[0]!r} is not {what}; there are: {', '.join(known)}")
