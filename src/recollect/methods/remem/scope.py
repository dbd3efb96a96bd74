"""Check if a single item is in scope. This is for an item that a caller names by its id, without a search."""

from __future__ import annotations

from recollect.domain.items import Item
from recollect.domain.queries import Scope
from recollect.domain.time import Interval


def is_in_scope(item: Item, scope: Scope) -> bool:
    """Return true if a search in this scope could find the item. ``scope.when`` is ignored."""
    return (
        (not scope.kinds or item.kind in scope.kinds)
        and (not scope.sessions or item.session in scope.sessions)
        and (not scope.speakers or item.speaker in scope.speakers)
        and (scope.during is None or _is_in_time(item, scope.during))
        and scope.exclude.isdisjoint((item.id, *item.sources))
        and _is_valid(item, scope)
    )


def _is_in_time(item: Item, during: Interval) -> bool:
    return during.contains(item.mentioned) or any(one.interval.overlaps(during) for one in item.occurrences)


def _is_valid(item: Item, scope: Scope) -> bool:
    """Return true if the item is valid.

    If the scope asks about a moment, the item must have been recorded by then and not superseded by then.
    """
    if scope.as_of is None:
        return item.superseded is None
    return item.recorded <= scope.as_of and (item.superseded is None or scope.as_of < item.superseded)
