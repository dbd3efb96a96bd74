"""Decide when a unit is consolidated, and with which others (RecMem, equations 5 and 6). Values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.methods.recmem.settings import Recurrence

Place = tuple[int, int]
"""The position of a unit in the order in which a bank's messages were stored. The second number orders passages."""

PINNED: Final = "pinned"
_RECURS: Final = "recurrence of"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCandidate:
    """A unit with its cosine to the new unit. ``is_consolidated`` is true if the unit is in a valid episode."""

    id: str
    place: Place
    at: datetime
    cosine: float
    is_consolidated: bool = False


def is_merge_candidate(cosine: float | None, recurrence: Recurrence) -> bool:
    """Return true if a model is to be asked whether a unit belongs to the nearest episode (equation 6).

    ``cosine`` is ``None`` if there is no episode.
    """
    return cosine is not None and cosine >= recurrence.merge_from


def select_relevant(
    candidates: Iterable[UnitCandidate], place: Place, recurrence: Recurrence
) -> tuple[UnitCandidate, ...]:
    """Return the relevant set of the unit at a place (equation 5), the nearest first.

    It is taken from the ``k`` nearest of the units that were stored before this unit. Those that are near enough are
    returned. So units that were stored later do not change the result.
    """
    before = [one for one in candidates if one.place < place]
    before.sort(key=lambda one: (-one.cosine, one.place))
    return tuple(one for one in before[: recurrence.k] if one.cosine >= recurrence.theta_sim)


def select_cluster(own: UnitCandidate, related: Sequence[UnitCandidate]) -> tuple[UnitCandidate, ...]:
    """Return the units for an episode: the unit and the related ones that are in no episode yet, in order of time."""
    fresh = [one for one in (*related, own) if not one.is_consolidated]
    return tuple(sorted(fresh, key=lambda one: (one.at, one.place)))


def consolidation_reason(
    own: UnitCandidate,
    related: Sequence[UnitCandidate],
    recurrence: Recurrence,
    *,
    important: bool,
    salient: str | None,
) -> str | None:
    """Return the reason why a unit is consolidated now, as the label of the new items. Return ``None`` if it is not.

    A pinned unit is always consolidated, whatever is similar to it. Otherwise the relevant set must be large enough,
    counted with the units that are already in an episode, and must contain enough fresh units. If it does not, the unit
    itself must say something that must not be lost.
    """
    if own.is_consolidated:
        return None
    if important:
        return PINNED
    if len(related) >= recurrence.theta_count and len(select_cluster(own, related)) >= recurrence.fresh:
        return f"{_RECURS} {len(related) + 1}"
    return None if salient is None else f"salient: {salient}"


def is_promotion(label: str) -> bool:
    """Return true if something was consolidated for its own sake, and not because it recurs."""
    return not label.startswith(_RECURS)


def has_untold_messages(sources: Iterable[str], told_messages: Set[str]) -> bool:
    """Return true if some of a unit's messages are in no episode. The turn may have got an answer after the episode."""
    return any(source not in told_messages for source in sources)
