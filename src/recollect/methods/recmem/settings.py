"""The constants of RecMem (sections 3.3 to 3.6), and which threshold belongs to which embedder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from recollect.errors import InvalidInput
from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """When something has come up often enough (equations 5 and 6).

    ``theta_sim`` is the cosine from which on two units are about the same, ``theta_count`` how many earlier ones there
    must be, of the ``k`` nearest. ``theta_merge`` is the cosine with an episode from which on a model is asked whether
    the unit belongs to it; the paper has one threshold for both, which ``None`` means. At least ``fresh`` units of a
    cluster must be in no episode yet: an episode tells how something goes on, and that takes two (ours).

    Raises:
        InvalidInput: a number is out of its range.
    """

    theta_sim: float
    theta_count: int
    k: int = 20
    theta_merge: float | None = None
    fresh: int = 2

    def __post_init__(self) -> None:
        if not all(-1.0 <= theta <= 1.0 for theta in (self.theta_sim, self.merge_from)):
            raise InvalidInput("theta_sim and theta_merge are cosines: they lie between -1 and 1")
        if not 1 <= self.theta_count <= self.k:
            raise InvalidInput("theta_count is at least 1, and at most k")
        if self.fresh < 1:
            raise InvalidInput("fresh must be at least 1")

    @property
    def merge_from(self) -> float:
        """The cosine with an episode from which on merging is considered."""
        return self.theta_sim if self.theta_merge is None else self.theta_merge


CASUAL: Final = Recurrence(theta_sim=0.7, theta_count=5)
"""For open-ended talk (section 3.6), with the paper's embedder, text-embedding-3-small."""

RECURRENCE: Final = {
    "text-embedding-3-small": CASUAL,
    "wordllama-256": Recurrence(theta_sim=0.6, theta_count=5),
}
"""What :data:`CASUAL` corresponds to under an embedder, by its name.

Cosines of static embeddings lie lower: over the five conversations of LoCoMo that we develop on, next to no message
has five earlier ones that are 0.7 like it, and 1 to 5 in 100 have five that are 0.6 like it. With that, memory costs
about an eighth of what reading every pair of messages does (`recollect eval cost`); as in the paper (table 1).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateSettings:
    """How units are consolidated.

    ``recurrence`` is taken as it stands where it is given; ``None`` for what the bank was calibrated to, else what is
    known of its embedder (:data:`RECURRENCE`), else :data:`CASUAL`. New messages are looked at ``settle_s`` seconds
    after the last of them, at most ``units`` in one job. ``old_facts`` are shown to the refiner (equation 8), which
    may give fewer than ten; a new fact with a cosine of ``same`` or more to one of them is none. ``characters`` of a
    unit are shown to a model. A unit on which models have failed ``patience`` times in a row is left to a job of its
    own, so that it does not hold up the others.
    """

    recurrence: Recurrence | None = None
    settle_s: float = 20.0
    units: int = 200
    old_facts: int = 10
    same: float = 0.97
    characters: int = 4000
    patience: int = 3
    links: LinkSettings = LinkSettings()
    resolve: ResolveSettings = ResolveSettings()
