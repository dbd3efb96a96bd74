"""What a store's items are in a bank, and which of them are meant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from langgraph.store.base import Item, ListNamespacesOp, MatchCondition, SearchItem

from recollect.domain.messages import StoredMessage
from recollect.errors import InvalidInput

Namespace: TypeAlias = tuple[str, ...]
Value: TypeAlias = dict[str, Any]

_BETWEEN = "."  # no label of a namespace has one in it, and none is empty: LangGraph sees to that


def session_of(namespace: Namespace) -> str:
    """The session that holds a namespace's items."""
    return _BETWEEN.join(namespace)


def namespace_of(session: str) -> Namespace:
    """The namespace of a session, whoever named it."""
    return tuple(session.split(_BETWEEN))


def ids_of(namespace: Namespace, key: str) -> tuple[str, str]:
    """The ids that a message which holds an item may have: the one that is free is the next value's.

    No other item's message has one of them: two points in a row end the session, which has none.
    """
    session = session_of(namespace)
    return f"{session}..0/{key}", f"{session}..1/{key}"


def key_of(message: StoredMessage) -> str | None:
    """The key that a message was put under; ``None`` where it was retained otherwise."""
    ids = ids_of(namespace_of(message.session), "")
    return next((message.id.removeprefix(start) for start in ids if message.id.startswith(start)), None)


def text_of(value: Mapping[str, Any]) -> str:
    """A value as the words of a message.

    Raises:
        InvalidInput: it cannot be written as JSON.
    """
    try:
        return json.dumps(dict(value), ensure_ascii=False)
    except (TypeError, ValueError) as exc:
        raise InvalidInput(f"the value cannot be kept, since it cannot be written as JSON: {exc}") from exc


def item_of(message: StoredMessage) -> Item:
    """A message as an item: one that was put with its value, another with text, speaker and time as its value."""
    key = key_of(message)
    value = None if key is None else _value(message.text)
    if key is None or value is None:
        key, value = message.id, {"text": message.text, "speaker": message.speaker, "at": message.at.isoformat()}
    return Item(
        value=value,
        key=key,
        namespace=namespace_of(message.session),
        created_at=message.recorded,
        updated_at=message.recorded,
    )


def scored(item: Item, score: float | None) -> SearchItem:
    """An item as a search brings it."""
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=score,
    )


def _value(text: str) -> Value | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def below(namespace: Namespace, prefix: Namespace) -> bool:
    """Whether a namespace is that one, or stands below it."""
    return namespace[: len(prefix)] == prefix


def listed(namespaces: Sequence[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Those that are meant, sorted; cut to a depth, each once."""
    meant = [one for one in namespaces if all(_matches(one, condition) for condition in op.match_conditions or ())]
    if op.max_depth is not None:
        meant = [one[: op.max_depth] for one in meant]
    return sorted(set(meant))[op.offset : op.offset + op.limit]


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise InvalidInput(f"{condition.match_type!r} is no way to match a namespace; there are: prefix, suffix")
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def fits(value: object, wanted: object) -> bool:
    """Whether a value is what a filter asks for: equal, part by part, or as its operators say.

    Raises:
        InvalidInput: there is no such operator.
    """
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_compares(value, str(operator), other) for operator, other in wanted.items())
        return isinstance(value, Mapping) and all(fits(value.get(key), other) for key, other in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(fits(one, other) for one, other in zip(value, wanted, strict=True))
    return value == wanted


def _compares(value: object, operator: str, wanted: object) -> bool:
    match operator:
        case "$eq":
            return value == wanted
        case "$ne":
            return value != wanted
    sign = _sign(value, wanted)
    match operator:
        case "$gt":
            return sign is not None and sign > 0
        case "$gte":
            return sign is not None and sign >= 0
        case "$lt":
            return sign is not None and sign < 0
        case "$lte":
            return sign is not None and sign <= 0
    raise InvalidInput(f"{operator} is no operator of a filter; there are: $eq, $ne, $gt, $gte, $lt, $lte")


def _sign(value: Any, wanted: Any) -> float | None:
    """How a number compares with another; ``None`` where one of them is none."""
    try:
        return float(value) - float(wanted)
    except (TypeError, ValueError):
        return None
