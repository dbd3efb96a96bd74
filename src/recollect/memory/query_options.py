"""Turn the arguments of a call into a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypedDict

from recollect.domain.checks import (
    require_count,
    require_interval,
    require_member,
    require_moment,
    require_text,
    require_texts,
)
from recollect.domain.items import ItemKind
from recollect.domain.queries import Effort, Query, Scope
from recollect.domain.time import Interval


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
        InvalidInput: a limit is not a positive number, an effort or a kind is unknown, a time has no zone or is at the
            ends of the calendar, or an option has the wrong type.
    """
    max_tokens, during = options.get("max_tokens", 4096), options.get("during")
    return Query(
        text=require_text("the question", text),
        now=_optional_moment("now", options.get("now")) or now,
        limit=require_count("limit", options.get("limit", 20)),
        max_tokens=None if max_tokens is None else require_count("max_tokens", max_tokens),
        effort=require_member("effort", Effort, options.get("effort", Effort.MID)),
        scope=Scope(
            kinds=parse_kinds(options.get("kinds", ())),
            sessions=require_texts("sessions", options.get("sessions", ())),
            speakers=require_texts("speakers", options.get("speakers", ())),
            during=None if during is None else require_interval("during", during),
            as_of=_optional_moment("as_of", options.get("as_of")),
            exclude=frozenset(require_texts("exclude", options.get("exclude", ()))),
        ),
    )


def parse_kinds(given: str | Iterable[str]) -> tuple[ItemKind, ...]:
    """Return the kinds of items with these names.

    Raises:
        InvalidInput: there is no kind of such a name.
    """
    return tuple(require_member("kinds", ItemKind, kind) for kind in require_texts("kinds", given))


def _optional_moment(name: str, moment: datetime | None) -> datetime | None:
    return None if moment is None else require_moment(name, moment)
