"""Our values as JSON and back, by their types."""

from __future__ import annotations

import base64
import types
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A frozen value as JSON types: times in ISO 8601, enums by value, arrays as base64; what is ``None`` left out."""
    if is_dataclass(value) and not isinstance(value, type):
        cells = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: to_json(cell) for name, cell in cells if cell is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, np.ndarray):
        return base64.b64encode(value.tobytes()).decode("ascii")
    if isinstance(value, frozenset):
        value = sorted(value)  # a set has no order; two exports of one bank are the same lines
    if isinstance(value, tuple | list):
        return [to_json(cell) for cell in value]
    if isinstance(value, dict):
        return {to_json(key): to_json(cell) for key, cell in value.items()}
    return value


def from_json(kind: type[T], data: Any) -> T:
    """The value of type ``kind`` that :func:`to_json` gave.

    Raises:
        ValueError, TypeError, KeyError: the data is of another shape.
    """
    value: T = _decoded(kind, data)
    return value


def _decoded(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        inner = next(option for option in get_args(kind) if option is not type(None))
        return None if data is None else _decoded(inner, data)
    if origin in (tuple, frozenset):
        (inner, *_) = get_args(kind)
        return origin(_decoded(inner, cell) for cell in data)
    if origin is dict:
        key, inner = get_args(kind)
        return {_decoded(key, name): _decoded(inner, cell) for name, cell in data.items()}
    if origin is np.ndarray:
        (dtype,) = get_args(get_args(kind)[1])
        return np.frombuffer(base64.b64decode(data, validate=True), dtype=dtype)
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass(kind, data)
    return _scalar(kind, data)


def _dataclass(kind: Any, data: Any) -> Any:
    """A frozen value; what is left out and may be ``None`` was ``None``, whatever its default."""
    hints = _hints(kind)
    if unknown := data.keys() - hints.keys():
        raise ValueError(f"unknown field {min(unknown)!r}")
    nothing = {name: None for name, hint in hints.items() if type(None) in get_args(hint)}
    return kind(**{**nothing, **{name: _decoded(hints[name], cell) for name, cell in data.items()}})


def _scalar(kind: Any, data: Any) -> Any:
    if kind is datetime:
        moment = datetime.fromisoformat(data)
        if moment.tzinfo is None:
            raise ValueError(f"the time {data} has no zone")
        return moment
    if issubclass(kind, Enum):
        return kind(data)
    if kind is float and isinstance(data, int):
        return float(data)
    if not isinstance(data, kind):
        raise TypeError(f"{data!r} is no {kind.__name__}")
    return data


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
