"""When a unit is consolidated, and with which others (RecMem, equations 5 and 6): values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.methods.recmem.settings import Recurrence

Place = tuple[int, int]
"""Where a unit stands in the order in which a bank's messages were kept; the second number tells passages apart."""

PINNED: Final = "pinned"
_RECURS: Final = "recurrence of"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCandidate:
    """A unit with its cosine to the arriving one; ``is_consolidated`` says that an episode that holds tells of it."""

    id: str
    place: Place
    at: datetime
    cosine: float
    is_consolidated: bool = False


def is_merge_candidate(cosine: float | None, recurrence: Recurrence) -> bool:
    """Whether a model is to be asked if a unit belongs to the nearest episode (equation 6); ``None`` for no episode."""
    return cosine is not None and cosine >= recurrence.merge_from


def select_relevant(
    candidates: Iterable[UnitCandidate], place: Place, recurrence: Recurrence
) -> tuple[UnitCandidate, ...]:
    """The relevant set of the unit at a place (equation 5), the nearest first.

    Of those that were kept before it the ``k`` nearest, and of these the ones near enough. So it makes no difference
    what had been kept by the time that it is looked at.
    """
    before = [one for one in candidates if one.place < place]
    before.sort(key=lambda one: (-one.cosine, one.place))
    return tuple(one for one in before[: recurrence.k] if one.cosine >= recurrence.theta_sim)


def select_cluster(own: UnitCandidate, related: Sequence[UnitCandidate]) -> tuple[UnitCandidate, ...]:
    """What an episode may be made of: the unit and the related ones that no episode tells of yet, in order of time."""
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
    """Why a unit is consolidated now, as the label of what comes of it; ``None`` where it is not.

    What was pinned is, whatever is like it. Else the relevant set must be large enough, units counted that an episode
    tells of already, and hold enough that is fresh; else the unit must say something that ought not to be lost.
    """
    if own.is_consolidated:
        return None
    if important:
        return PINNED
    if len(related) >= recurrence.theta_count and len(select_cluster(own, related)) >= recurrence.fresh:
        return f"{_RECURS} {len(related) + 1}"
    return None if salient is None else f"salient: {salient}"


def is_promotion(label: str) -> bool:
    """Whether something was consolidated for its own sake, and not because it recurs."""
    return not label.startswith(_RECURS)


def has_untold_messages(sources: Iterable[str], told_messages: Set[str]) -> bool:
    """Whether some of a unit's messages are told of in no episode: a turn may have been answered since."""
    return any(source not in told_messages for source in sources)
