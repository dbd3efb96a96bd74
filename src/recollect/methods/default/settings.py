"""The constants for answering with the default recipe."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.errors import InvalidInput
from recollect.methods.emem.settings import Pathway, ReconstructionSettings, RouteSettings
from recollect.methods.memr3.settings import LoopSettings


def _turn_pathway_settings() -> RouteSettings:
    return RouteSettings(tau=4, pathways=(Pathway.VECTOR, Pathway.KEYWORD))


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultSettings:
    """Settings for how the default recipe answers a question.

    The first pass is shown at most ``share`` of the query's tokens. The rest is for evidence that a loop finds.
    ``loop`` counts the first pass as its first generation.

    Segments are found by what was said in them (``route``), because the recipe keeps no summaries, and by the evidence.
    This is the evidence that the first pass has cited, or else the ``best`` pieces. ``reading`` says how the segments
    are read.

    Raises:
        InvalidInput: a number is out of its range.
    """

    share: float = 0.7
    best: int = 3
    loop: LoopSettings = LoopSettings()
    route: RouteSettings = field(default_factory=_turn_pathway_settings)
    reading: ReconstructionSettings = ReconstructionSettings()

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise InvalidInput(f"share is {self.share}; it must be more than 0 and at most 1")
        if self.best < 1:
            raise InvalidInput(f"best is {self.best}; it must be at least 1")
