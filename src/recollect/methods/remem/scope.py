"""Whether a single item is in scope, for one that a caller names by its id and that no search has brought."""

from __future__ import annotations

from recollect.domain.items import Item
from recollect.domain.queries import Scope
from recollect.domain.time import Interval


def is_in_scope(item: Item, scope: Scope) -> bool:
    """Whether a search in this scope could bring the item; ``scope.when`` aside."""
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
    """Whether it holds; where the scope asks about a moment, whether it was recorded and not superseded by then."""
    if scope.as_of is None:
        return item.superseded is None
    return item.recorded <= scope.as_of and (item.superseded is None or scope.as_of < item.superseded)
