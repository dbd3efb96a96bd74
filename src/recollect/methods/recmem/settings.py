"""The constants of RecMem (sections 3.3 to 3.6), and the threshold of each embedder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from recollect.errors import InvalidInput
from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """The thresholds at which a matter has come up often enough to be consolidated (equations 5 and 6).

    ``theta_sim`` is the minimal cosine of two units about the same matter. ``theta_count`` is the minimal number of
    such earlier units among the ``k`` nearest. ``theta_merge`` is the minimal cosine with an episode at which a model
    is asked if the unit belongs to it. ``None`` means that it equals ``theta_sim``, as in the paper. ``fresh`` is the
    minimal number of units in the cluster that are in no episode yet. The paper does not have this condition. An
    episode tells how something goes on, which takes two units.

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
            raise InvalidInput("theta_sim and theta_merge are cosines, so they must be between -1 and 1")
        if not 1 <= self.theta_count <= self.k:
            raise InvalidInput("theta_count must be at least 1 and at most k")
        if self.fresh < 1:
            raise InvalidInput("fresh must be at least 1")

    @property
    def merge_from(self) -> float:
        """Return the minimal cosine with an episode at which merging is considered."""
        return self.theta_sim if self.theta_merge is None else self.theta_merge


CASUAL: Final = Recurrence(theta_sim=0.7, theta_count=5)
"""The thresholds for open-ended talk (section 3.6), with the paper's embedder, text-embedding-3-small."""

RECURRENCE: Final = {
    "text-embedding-3-small": CASUAL,
    "wordllama-256": Recurrence(theta_sim=0.6, theta_count=5),
}
"""The thresholds that correspond to :data:`CASUAL` for each embedder, by its name.

Cosines of static embeddings are lower. In the five conversations of LoCoMo that we develop on, almost no message has
five earlier messages with a cosine of 0.7 to it. But 1 to 5 in 100 have five with a cosine of 0.6. With this threshold,
memory costs about an eighth of what it costs to read every pair of messages (``recollect eval cost``). This agrees with
the paper (table 1).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateSettings:
    """The settings of consolidation.

    A given ``recurrence`` is used as it is. If it is ``None``, the calibration of the bank is used. Without a
    calibration, the thresholds of its embedder are used (:data:`RECURRENCE`), or else :data:`CASUAL`. New messages are
    examined ``settle_s`` seconds after the last of them, at most ``units`` in one job. The refiner sees ``old_facts``
    known facts (equation 8), and may return fewer than ten. A new fact with a cosine of ``same`` or more to a known
    fact is dropped. A model sees at most ``characters`` of a unit. If models have failed on a unit ``patience`` times
    in a row, the unit gets a separate job, so that it does not delay the others.
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
