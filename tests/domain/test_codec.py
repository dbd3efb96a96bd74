"""Every value of the domain as JSON and back."""

from __future__ import annotations

import importlib
import json
import pkgutil
import types
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import recollect.domain
from recollect.domain.answers import Step, TraceStep
from recollect.domain.changes import Changeset, Session
from recollect.domain.codec import from_json, to_json
from recollect.domain.items import IndexedItem, Item
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Message, StoredMessage
from recollect.domain.queries import Scope
from recollect.domain.time import Interval, Precision

NOON = datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=45)))


def domain_values():
    """Every dataclass that the domain defines."""
    for module in pkgutil.iter_modules(recollect.domain.__path__):
        loaded = importlib.import_module(f"recollect.domain.{module.name}")
        for kind in vars(loaded).values():
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == loaded.__name__:
                yield kind


def sample(kind, *, bare=False):
    """A value of a type: every field given, or, ``bare``, everything that may be none or empty so."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        inner = next(option for option in get_args(kind) if option is not type(None))
        return None if bare else sample(inner)
    if origin is tuple and ... not in get_args(kind):
        return tuple(map(sample, get_args(kind)))
    if origin in (tuple, frozenset):
        return origin(() if bare else (sample(get_args(kind)[0]),))
    if origin is dict:
        key, inner = get_args(kind)
        return {} if bare else {sample(key): sample(inner)}
    if kind in (NDArray[np.float32], NDArray[np.uint32]):
        return np.array([0, 1, 3], dtype=np.float32 if kind == NDArray[np.float32] else np.uint32)
    if kind is Interval:
        return Interval(start=None if bare else NOON, end=NOON + timedelta(1), precision=Precision.DAY)
    if kind is TraceStep:
        return sample(Step, bare=bare)  # each kind of step has its own fields, and a reader may not know them
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: sample(hints[field.name], bare=bare) for field in fields(kind)})
    if issubclass(kind, Enum):
        return list(kind)[-1]
    return {str: "ä\n", int: 3, float: 0.1, bool: True, datetime: NOON}[kind]


def same(one, other):
    """Equality that looks into arrays."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if is_dataclass(one):
        names = [f.name for f in fields(one) if f.compare]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and type(one) is type(other)


def round_trip(value):
    return from_json(type(value), json.loads(json.dumps(to_json(value))))


KINDS = sorted(domain_values(), key=lambda kind: kind.__name__)


def test_there_are_values_to_look_at():
    assert len(KINDS) > 25


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_value_comes_back(kind):
    value = sample(kind)
    assert same(round_trip(value), value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_value_comes_back(kind):
    value = sample(kind, bare=True)
    assert same(round_trip(value), value)


MOMENTS = st.datetimes(timezones=st.integers(-840, 840).map(lambda m: timezone(timedelta(minutes=m))))


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=["Cs"])), MOMENTS, st.lists(st.floats(width=32, allow_nan=False)))
def test_texts_times_and_vectors_come_back_exactly(text, moment, numbers):
    message = Message(text=text, at=moment, captions=(text,))
    again = round_trip(message)
    assert again == message
    assert again.at.utcoffset() == moment.utcoffset()
    entry = sample(IndexedItem)
    vector = np.array(numbers, dtype=np.float32)
    given_ = IndexedItem(item=entry.item, vector=vector, terms=entry.terms, asks=True)
    assert same(round_trip(given_), given_)


def test_nothing_that_is_none_is_written():
    assert to_json(Message(text="x")) == {
        "text": "x",
        "speaker": "user",
        "role": "user",
        "captions": [],
        "important": False,
    }


def test_what_was_written_before_a_field_was_there_has_its_default():
    old = {name: cell for name, cell in to_json(sample(StoredMessage)).items() if name != "important"}
    assert from_json(StoredMessage, old).important is False
    item = {name: cell for name, cell in to_json(sample(Item)).items() if name != "label"}
    assert from_json(Item, item).label == ""


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Link, {"source": "a", "target": "b", "kind": "temporal"}),
        (Link, {"source": "a", "target": "b", "kind": "magic", "weight": 1.0}),
        (Link, {"source": 1, "target": "b", "kind": "temporal", "weight": 1.0}),
        (Link, {"source": "a", "target": "b", "kind": "temporal", "weight": "heavy"}),
        (Link, {"source": "a", "target": "b", "kind": "temporal", "weight": 1.0, "colour": "red"}),
        (Message, {"text": "x", "at": "2024-05-01T12:00:00"}),
        (Message, {"text": "x", "at": "soon"}),
        (Session, {"id": "s", "started": "2024-05-01T12:00:00"}),
        (IndexedItem, {"vector": "!!!"}),
        (Message, {"text": "x", "captions": "a photo"}),
        (Message, {"text": "x", "important": 1}),
        (Message, 5),
        (Changeset, {"settings": [["a", "b", "c"]]}),
        (Interval, {"start": "2024-05-02T00:00:00Z", "end": "2024-05-01T00:00:00Z", "precision": "day"}),
    ],
)
def test_data_of_another_shape_is_refused(kind, data):
    with pytest.raises(ValueError, match=r" @ \$"):
        from_json(kind, data)


def test_an_error_names_each_field_and_what_is_wrong_with_it():
    with pytest.raises(ValueError, match="colour") as caught:
        from_json(Link, {"source": 1, "target": "b", "kind": "magic", "colour": "red"})
    assert str(caught.value).split("; ") == [
        "1 is not of type str @ $.source",
        "'magic' is not a valid LinkKind @ $.kind",
        "required field missing @ $.weight",
        "extra fields found (colour) @ $",
    ]
    with pytest.raises(ValueError, match=r"^the time 2024-05-01T12:00:00 has no zone @ \$\.started$"):
        from_json(Session, {"id": "s", "started": "2024-05-01T12:00:00"})


def test_whole_numbers_are_numbers():
    link = from_json(Link, {"source": "a", "target": "b", "kind": "causal", "weight": 1})
    assert link == Link(source="a", target="b", kind=LinkKind.CAUSAL, weight=1.0)
    assert isinstance(link.weight, float)


def test_a_set_is_written_in_order():
    assert to_json(Scope(exclude=frozenset("zyxwvutsrq")))["exclude"] == sorted("zyxwvutsrq")


def test_an_empty_changeset_comes_back():
    assert round_trip(Changeset()) == Changeset()
    assert round_trip(Interval(start=NOON.astimezone(UTC), end=NOON, precision=Precision.DAY)).start.tzinfo is not None
