"""Convert the values of the domain to JSON types and back, by their type annotations."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from recollect.domain.checks import quote_value, require_moment

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Return a frozen value as JSON types: times in ISO 8601, enums by value, arrays as base64.

    A field is left out if it is ``None``, or if its metadata has ``"json": False``. If the metadata has a function as
    ``"json"``, this function converts the field.
    """
    if is_dataclass(value) and not isinstance(value, type):
        cells = ((name, write, getattr(value, name)) for name, write in _list_written(type(value)))
        return {name: write(cell) for name, write, cell in cells if cell is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, np.ndarray):
        return base64.b64encode(value.tobytes()).decode("ascii")
    if isinstance(value, frozenset):
        value = sorted(value)  # a set has no order, and two exports of one bank must be equal
    if isinstance(value, tuple | list):
        return [to_json(cell) for cell in value]
    if isinstance(value, dict):
        return {to_json(key): to_json(cell) for key, cell in value.items()}
    return value


@cache
def _list_written(kind: type) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Return the names of the fields that are written, each with the function that converts it."""
    asked = ((field.name, field.metadata.get("json", True)) for field in fields(kind))
    return tuple((name, how if callable(how) else to_json) for name, how in asked if how)


def from_json(kind: type[T], data: object) -> T:
    """Return the value of type ``kind`` that :func:`to_json` converted.

    Raises:
        ValueError: the data has another shape. The message says where the error is, and what is wrong.
    """
    from cattrs import BaseValidationError, transform_error

    try:
        return _converter().structure(data, kind)
    except (BaseValidationError, TypeError) as exc:
        raise ValueError("; ".join(transform_error(exc, format_exception=_describe))) from exc
    except (RecursionError, OverflowError) as exc:
        raise ValueError(f"a value is nested too deeply or too large: {exc}") from exc


def _describe(exc: BaseException, kind: Any) -> str:
    from cattrs import ForbiddenExtraKeysError
    from cattrs.v import format_exception

    return format_exception(exc, kind) if isinstance(exc, KeyError | ForbiddenExtraKeysError) else str(exc)


@cache
def _converter() -> Converter:
    """Return a strict converter. It refuses numbers in place of texts, times without a zone, and unknown fields.

    Each kind of step has its own fields. A step is read as a plain one, without these fields.
    """
    from cattrs import Converter

    from recollect.domain.answers import Step, TraceStep, read_step

    converter = Converter()
    converter.register_structure_hook(str, lambda data, kind: kind(_require(data, str)))  # kind is str or a StrEnum
    converter.register_structure_hook(int, _require)
    converter.register_structure_hook(bool, _require)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(datetime, _time)
    converter.register_structure_hook_func(lambda kind: kind == NDArray[np.float32], partial(_array, np.float32))
    converter.register_structure_hook_func(lambda kind: kind == NDArray[np.uint32], partial(_array, np.uint32))
    converter.register_structure_hook_func(lambda kind: kind is TraceStep, lambda data, _: read_step(Step, data))
    converter.register_structure_hook_factory(lambda kind: get_args(kind)[1:] == (...,), _tuple_hook)
    converter.register_structure_hook_factory(is_dataclass, _dataclass_hook)
    return converter


def _require(data: Any, kind: type[T]) -> T:
    if type(data) is not kind:
        raise TypeError(f"{quote_value(data)} is not of type {kind.__name__}")
    return data


def _number(data: Any, kind: type[float]) -> float:
    return float(data) if type(data) is int else _require(data, kind)


def _time(data: Any, _: type[datetime]) -> datetime:
    moment = datetime.fromisoformat(_require(data, str))
    if moment.tzinfo is None:
        raise ValueError(f"the time {data} has no zone")
    return require_moment("the time", moment)


def _array(dtype: type[np.generic], data: Any, _: Any) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(_require(data, str), validate=True), dtype=dtype)


def _tuple_hook(kind: Any, converter: Converter) -> Callable[[Any, Any], tuple[Any, ...]]:
    cells = converter.get_structure_hook(list[get_args(kind)[0]])  # type: ignore[misc]
    return lambda data, _: tuple(cells(_require(data, list), list))


def _dataclass_hook(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """Read a frozen value. A missing field that may be ``None`` becomes ``None``, whatever its default."""
    from cattrs.gen import make_dict_structure_fn

    nothing = {name: None for name, hint in get_type_hints(kind).items() if type(None) in get_args(hint)}
    read = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)
    return lambda data, _: read({**nothing, **_require(data, dict)}, kind)
