"""From what a caller gives to a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypedDict, TypeVar

from recollect.domain.items import ItemKind
from recollect.domain.queries import Effort, Query, Scope
from recollect.domain.time import Interval
from recollect.errors import InvalidInput, NaiveDatetime

E = TypeVar("E", bound=StrEnum)


class RecallOptions(TypedDict, total=False):
    """How a search may be narrowed; every key may be left out.

    ``limit``: at most so many items. ``max_tokens``: at most so many tokens of evidence together; ``None`` for no
    bound. ``effort``: how hard to look: low, mid or high. ``kinds``, ``sessions``, ``speakers``: only these.
    ``during``: only what was said in, or speaks of, that time. ``as_of``: what was recorded by then. ``exclude``: ids
    of items or messages that must not come back. ``now``: the present that "last week" is read against.
    """

    limit: int
    max_tokens: int | None
    effort: Effort | str
    kinds: Sequence[ItemKind | str]
    sessions: str | Iterable[str]
    speakers: str | Iterable[str]
    during: Interval | None
    as_of: datetime | None
    exclude: str | Iterable[str]
    now: datetime | None


def build_query(text: str, options: RecallOptions, now: datetime) -> Query:
    """A query; ``now`` is the present where none was given.

    Raises:
        InvalidInput: a bound is not positive, an effort or kind is unknown, a time is naive.
    """
    max_tokens = options.get("max_tokens", 4096)
    return Query(
        text=text,
        now=_require_aware("now", options.get("now")) or now,
        limit=_require_positive("limit", options.get("limit", 20)),
        max_tokens=None if max_tokens is None else _require_positive("max_tokens", max_tokens),
        effort=parse_member(Effort, options.get("effort", Effort.MID)),
        scope=Scope(
            kinds=parse_kinds(options.get("kinds", ())),
            sessions=normalize_names(options.get("sessions", ())),
            speakers=normalize_names(options.get("speakers", ())),
            during=options.get("during"),
            as_of=_require_aware("as_of", options.get("as_of")),
            exclude=frozenset(normalize_names(options.get("exclude", ()))),
        ),
    )


def normalize_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def parse_kinds(given: str | Iterable[str]) -> tuple[ItemKind, ...]:
    """Kinds of items by their names.

    Raises:
        InvalidInput: one is unknown.
    """
    return tuple(parse_member(ItemKind, kind) for kind in normalize_names(given))


def _require_positive(name: str, value: int) -> int:
    if value < 1:
        raise InvalidInput(f"{name} is {value}; it must be at least 1")
    return value


def _require_aware(name: str, moment: datetime | None) -> datetime | None:
    if moment is not None and moment.utcoffset() is None:
        raise NaiveDatetime(name)
    return moment


def parse_member(kind: type[E], name: str) -> E:
    """A member by its value.

    Raises:
        InvalidInput: there is none.
    """
    try:
        return kind(name)
    except ValueError as exc:
        raise InvalidInput(f"{name!r} is no {kind.__name__}; there are: {', '.join(kind)}") from exc
