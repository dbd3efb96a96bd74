"""Turn a model's text into a typed answer: the schema for the model, and the strict reading of its reply.

pydantic makes the JSON schema from a dataclass. ``field(metadata={"description": ...})`` describes a field. Docstrings
are for programmers, and are left out. pydantic is imported on first use.
"""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from recollect.models.language import ReplyCheck

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

Schema = dict[str, Any]

MAX_LISTED_MISTAKES: Final = 8

_FENCE: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.S)


class ReplyMistake(Exception):
    """The fault of a reply, in words for the model that wrote it. ``breaks_schema`` is true if the reply does not fit
    the schema.
    """

    def __init__(self, problem: str, *, shape: bool = False) -> None:
        super().__init__(problem)
        self.breaks_schema = shape


def build_schema(answer_type: type[object]) -> Schema | None:
    """Return the JSON schema of an answer, or ``None`` for plain text. It is the same in every process.

    Raises:
        TypeError: the type is neither ``str`` nor a dataclass.
    """
    if answer_type is str:
        return None
    if not is_dataclass(answer_type):
        raise TypeError(f"an answer is str or a dataclass, not {answer_type}")
    schema = _get_adapter(answer_type).json_schema()
    return _tidy_schema(_name_by_titles(schema))


def find_schema_name(answer_type: type[object]) -> str:
    """Return the name of an answer's schema in requests: the title that its class sets, or the name of the class."""
    config: dict[str, str] = getattr(answer_type, "__pydantic_config__", {})
    return config.get("title", answer_type.__name__)


def parse_answer(reply: str, answer_type: type[T], check: ReplyCheck[T] | None) -> T:
    """Return the answer in a reply: plain text without blanks around it, or the value of its JSON.

    Types are strict: ``"3"`` is not a number, but a whole number may be a fraction. Fields that the schema does not
    have are ignored. A fence or a sentence around the JSON is accepted.

    Raises:
        Mistake: the reply breaks the schema, an invariant of the type, or the check.
    """
    value = reply.strip() if answer_type is str else _parse_value(reply, answer_type)
    if check is not None:
        try:
            check(value)  # type: ignore[arg-type]  # for str, T is str
        except ValueError as exc:
            raise ReplyMistake(str(exc)) from exc
    return value  # type: ignore[return-value]


def dump_answer(value: object, answer_type: type[object]) -> str:
    """Return an answer as text that :func:`parse_answer` can read."""
    return str(value) if answer_type is str else _get_adapter(answer_type).dump_json(value).decode()


def _parse_value(reply: str, answer_type: type[T]) -> T:
    from pydantic import ValidationError

    try:
        value: T = _get_adapter(answer_type).validate_json(_find_json(reply), strict=True)
    except ValidationError as exc:
        raise ReplyMistake(_describe_errors(exc), shape=True) from exc
    return value


def _find_json(reply: str) -> str:
    """Return the JSON object of a reply, written again. Values that JSON does not have (NaN, infinity) are refused."""
    try:
        found = _decode(reply)
        return json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError) as exc:
        raise ReplyMistake(f"it holds no JSON object that can be read: {exc}", shape=True) from exc


def _decode(reply: str) -> object:
    """Decode the whole reply, or the text in its last fence, or the text from its first brace on.

    Only the first brace is tried, because an object inside a truncated object is not the answer.
    """
    texts = [reply, *reversed(_FENCE.findall(reply))]
    for text in texts:
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            continue
    start = reply.find("{")
    if start < 0:
        raise ValueError("there is no { in it")
    return json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(reply, start)[0]


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _describe_errors(error: ValidationError) -> str:
    mistakes = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{_format_path(mistake['loc'])}: {mistake['msg']}" for mistake in mistakes[:MAX_LISTED_MISTAKES]]
    if len(mistakes) > MAX_LISTED_MISTAKES:
        lines.append(f"and {len(mistakes) - MAX_LISTED_MISTAKES} more")
    return "; ".join(lines)


def _format_path(path: tuple[int | str, ...]) -> str:
    """Return a place in JSON as it is usually written: ``facts[0].start``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "the object"


def _get_adapter(answer_type: Any) -> TypeAdapter[Any]:
    return _build_adapter(answer_type)


@cache
def _build_adapter(answer_type: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(answer_type)


def _name_by_titles(schema: Schema) -> Schema:
    """Return the schema with every definition named by its title.

    The title is the name of the class, unless the class sets another one. So a class can be renamed without a change of
    the requests that are recorded.
    """
    titles = {name: definition.get("title", name) for name, definition in schema.get("$defs", {}).items()}
    text = json.dumps(schema)
    for name, title in titles.items():
        text = text.replace(f'"#/$defs/{name}"', f'"#/$defs/{title}"')
    named: Schema = json.loads(text)
    if titles:
        named["$defs"] = {titles[name]: named["$defs"][name] for name in sorted(titles, key=titles.__getitem__)}
    return named


def _tidy_schema(schema: Schema) -> Schema:
    """Return the schema without the titles that pydantic adds, and without the docstrings of classes."""
    names = "$defs" in schema and {name: _drop_description(_drop_titles(sub)) for name, sub in schema["$defs"].items()}
    tidy = _drop_description(_drop_titles({key: value for key, value in schema.items() if key != "$defs"}))
    return {**tidy, "$defs": names} if names else tidy


def _drop_description(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "description"}


def _drop_titles(schema: Schema) -> Schema:
    """Return the schema without titles at any depth. A field with the name title stays."""
    tidy: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            tidy[key] = {name: _drop_titles(sub) for name, sub in value.items()}
        elif isinstance(value, dict):
            tidy[key] = _drop_titles(value)
        elif isinstance(value, list):
            tidy[key] = [_drop_titles(one) if isinstance(one, dict) else one for one in value]
        elif key != "title":
            tidy[key] = value
    return tidy
