"""Translate between the items of a LangGraph store and the messages of a bank, and filter them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from langgraph.store.base import Item, ListNamespacesOp, MatchCondition, SearchItem

from recollect.domain.messages import StoredMessage
from recollect.errors import InvalidInput

Namespace: TypeAlias = tuple[str, ...]
Value: TypeAlias = dict[str, Any]

_BETWEEN = "."  # LangGraph ensures that no label contains a point and that no label is empty


def session_for(namespace: Namespace) -> str:
    """Return the session that holds the items of a namespace."""
    return _BETWEEN.join(namespace)


def namespace_for(session: str) -> Namespace:
    """Return the namespace of a session, also for sessions that did not come from a namespace."""
    return tuple(session.split(_BETWEEN))


def candidate_ids(namespace: Namespace, key: str) -> tuple[str, str]:
    """Return the two ids that the message of an item may have. The free one is for the next value.

    No message of another item has one of them: the session part ends with two points in a row, which no namespace has.
    """
    session = session_for(namespace)
    return f"{session}..0/{key}", f"{session}..1/{key}"


def item_key(message: StoredMessage) -> str | None:
    """Return the key under which a message was put, or ``None`` for a message that was retained in another way."""
    ids = candidate_ids(namespace_for(message.session), "")
    return next((message.id.removeprefix(start) for start in ids if message.id.startswith(start)), None)


def render_value(value: Mapping[str, Any]) -> str:
    """Return a value as the text of a message.

    Raises:
        InvalidInput: the value cannot be written as JSON.
    """
    try:
        return json.dumps(dict(value), ensure_ascii=False)
    except (TypeError, ValueError) as exc:
        raise InvalidInput(f"the value cannot be kept, since it cannot be written as JSON: {exc}") from exc


def make_store_item(message: StoredMessage) -> Item:
    """Return a message as an item: with its value if it was put, or else with text, speaker and time as its value."""
    key = item_key(message)
    value = None if key is None else _parse_value(message.text)
    if key is None or value is None:
        key, value = message.id, {"text": message.text, "speaker": message.speaker, "at": message.at.isoformat()}
    return Item(
        value=value,
        key=key,
        namespace=namespace_for(message.session),
        created_at=message.recorded,
        updated_at=message.recorded,
    )


def make_search_item(item: Item, score: float | None) -> SearchItem:
    """Return an item as a search returns it."""
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=score,
    )


def _parse_value(text: str) -> Value | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_below(namespace: Namespace, prefix: Namespace) -> bool:
    """Return true if a namespace is the given one or lies below it."""
    return namespace[: len(prefix)] == prefix


def select_namespaces(namespaces: Sequence[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return the selected namespaces, sorted, cut to a depth, each once."""
    meant = [
        one for one in namespaces if all(_matches_condition(one, condition) for condition in op.match_conditions or ())
    ]
    if op.max_depth is not None:
        meant = [one[: op.max_depth] for one in meant]
    return sorted(set(meant))[op.offset : op.offset + op.limit]


def _matches_condition(namespace: Namespace, condition: MatchCondition) -> bool:
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


def matches_filter(value: object, wanted: object) -> bool:
    """Return true if a value passes a filter: it is equal part by part, or passes the operators of the filter.

    Raises:
        InvalidInput: there is no such operator.
    """
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_matches_operator(value, str(operator), other) for operator, other in wanted.items())
        return isinstance(value, Mapping) and all(
            matches_filter(value.get(key), other) for key, other in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(matches_filter(one, other) for one, other in zip(value, wanted, strict=True))
    return value == wanted


def _matches_operator(value: object, operator: str, wanted: object) -> bool:
    match operator:
        case "$eq":
            return value == wanted
        case "$ne":
            return value != wanted
    sign = _compare_numbers(value, wanted)
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


def _compare_numbers(value: Any, wanted: Any) -> float | None:
    """Return the sign of the comparison of two numbers, or ``None`` if one of them is not a number."""
    try:
        return float(value) - float(wanted)
    except (TypeError, ValueError):
        return None
