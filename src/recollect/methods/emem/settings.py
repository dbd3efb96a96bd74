"""The constants of routing and of answering (E-mem, sections 3.3 and 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from recollect.errors import InvalidInput
from recollect.recall.settings import RecallSettings


class Pathway(StrEnum):
    """The three ways to find a segment (section 3.3): by its summary, by the meaning of its turns, and by its words."""

    SUMMARY = "summary"
    VECTOR = "vector"
    KEYWORD = "keyword"


class Mode(StrEnum):
    """One pass over the segments (equation 7), or as many as the question needs (equation 8)."""

    DIRECT = "direct"
    ITERATIVE = "iterative"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """Settings of the activation of segments: at most ``tau`` of them, by ``pathways``.

    ``recall`` provides the weights of the signals, the deadline of a pathway, and the number of candidates for an
    effort.

    Raises:
        InvalidInput: the settings could never activate a segment.
    """

    tau: int = 8
    pathways: tuple[Pathway, ...] = tuple(Pathway)
    recall: RecallSettings = field(default_factory=RecallSettings)

    def __post_init__(self) -> None:
        if self.tau < 1 or not self.pathways:
            raise InvalidInput("routing needs a tau of 1 at least, and a pathway")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionSettings:
    """Settings of answering: at most ``steps`` passes, and ``concurrency`` segments read at a time.

    Raises:
        InvalidInput: one of these is less than 1.
    """

    mode: Mode = Mode.DIRECT
    steps: int = 3
    concurrency: int = 8

    def __post_init__(self) -> None:
        if min(self.steps, self.concurrency) < 1:
            raise InvalidInput("a question takes one pass at least, and reading one segment at a time")
