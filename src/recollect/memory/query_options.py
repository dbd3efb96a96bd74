"""Turn the arguments of a call into a query."""

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
    """The options of a search. Every key may be left out.

    Args:
        limit: the maximum number of items.
        max_tokens: the maximum number of tokens of all evidence together. ``None`` means no limit.
        effort: how thorough the search is: ``low``, ``mid`` or ``high``.
        kinds, sessions, speakers: only items of these.
        during: only items that were said in this time, or that speak of it.
        as_of: only what was recorded by this moment.
        exclude: ids of items or messages that must not be returned.
        now: the present for expressions such as "last week" in the question.
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
    """Return the query for a text and its options. ``now`` is the present if the options have none.

    Raises:
        InvalidInput: a limit is not positive, an effort or a kind is unknown, or a time has no zone.
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
    """Return one name or several names as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given)


def parse_kinds(given: str | Iterable[str]) -> tuple[ItemKind, ...]:
    """Return the kinds of items with these names.

    Raises:
        InvalidInput: there is no kind of such a name.
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
    """Return the member of an enum that has a value.

    Raises:
        InvalidInput: no member has this value.
    """
    try:
        return kind(name)
    except ValueError as exc:
        raise InvalidInput(f"{name!r} is not a value of {kind.__name__}. The values are: {', '.join(kind)}") from exc
