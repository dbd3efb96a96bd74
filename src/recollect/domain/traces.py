"""The record of a loop that retrieves, reflects and decides for a question (MemR3, sections 3.2 and 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from recollect.domain.recalls import Evidence
from recollect.domain.usage import Usage


class LoopDecision(StrEnum):
    """The possible next actions (MemR3, equation 4)."""

    RETRIEVE = "retrieve"
    REFLECT = "reflect"
    ANSWER = "answer"


class DecisionReason(StrEnum):
    """The reason for a decision: the model's choice, or a rule."""

    START = "start"
    MODEL = "model"
    BUDGET = "budget"
    EMPTY = "empty"
    STREAK = "streak"
    PRECISION = "precision"


DECISION_REASONS: Final = {
    DecisionReason.START: "a question begins with a retrieval",
    DecisionReason.MODEL: "the model chose",
    DecisionReason.BUDGET: "the budget of iterations is used up",
    DecisionReason.EMPTY: "the last retrieval found nothing new",
    DecisionReason.STREAK: "there were enough reflections in a row",
    DecisionReason.PRECISION: "nothing finer than this was found, and memory may hold nothing finer",
}
"""The reasons in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A statement that helps to answer the question. ``snippets`` are the numbers of the snippets that support it."""

    fact: str
    snippets: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.fact.strip():
            raise ValueError("an entry of evidence is empty")
        if not self.snippets:
            raise ValueError(f"the evidence {self.fact!r} rests on nothing: name the snippets that say it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A piece of missing information. If ``finer`` is true, it is known, but less precisely than the question may
    need.
    """

    missing: str
    finer: bool = False

    def __post_init__(self) -> None:
        if not self.missing.strip():
            raise ValueError("a gap is empty; give no gap where nothing is missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerState:
    """The state of the evidence-gap tracker at one moment: evidence and gaps (MemR3, section 3.3)."""

    evidence: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def lacks_only_precision(self) -> bool:
        """Return true if there are gaps, and all of them ask only for a finer precision of known information."""
        return bool(self.evidence) and bool(self.gaps) and all(gap.finer for gap in self.gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A retrieved piece of evidence: its number for this question, from 1, and its form in a prompt."""

    number: int
    evidence: Evidence
    shown: str

    @property
    def id(self) -> str:
        return self.evidence.id


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRound:
    """One iteration of the loop: the model's proposal, the decision with its reason, and the result.

    Number 0 is the retrieval that every question begins with. ``wanted`` is the model's decision. ``content`` is the
    query, the reasoning or the draft that came with it. ``decision`` is the router's decision, and ``why`` is its
    reason.

    ``query`` is the text of the search, and ``snippets`` are its results. ``before`` and ``after`` are evidence and
    gaps before and after the generation. ``usage`` is the cost of the model's call, and ``seconds`` the time of the
    whole iteration. ``failure`` describes an error that ended the loop. If ``decision`` is ``None``, the generation
    failed. Otherwise the decided action failed.
    """

    number: int
    decision: LoopDecision | None = None
    why: DecisionReason = DecisionReason.MODEL
    wanted: LoopDecision | None = None
    content: str = ""
    query: str = ""
    snippets: tuple[Snippet, ...] = ()
    before: TrackerState = TrackerState()
    after: TrackerState = TrackerState()
    usage: Usage = Usage()
    seconds: float = 0.0
    failure: str = ""

    @property
    def is_continued(self) -> bool:
        """Return true if another iteration follows."""
        return self.decision is not LoopDecision.ANSWER and not self.failure

    @property
    def is_complete(self) -> bool:
        """Return true if nothing is missing.

        It is false if no evidence is known, or if the model wanted another retrieval. In these cases an empty list of
        gaps only means that the model named none.
        """
        return bool(self.after.evidence) and not self.after.gaps and self.wanted is not LoopDecision.RETRIEVE

    @property
    def new_findings(self) -> tuple[Finding, ...]:
        """Return the findings that are new since this iteration."""
        known = {finding.fact for finding in self.before.evidence}
        return tuple(finding for finding in self.after.evidence if finding.fact not in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTrace:
    """The whole record of a loop for a question: its iterations, and the call that wrote the answer.

    ``conclusion`` is the reasoning of that call. It is ``None`` if there was no evidence, and so no call. ``usage`` and
    ``seconds`` are the cost of that call.
    """

    question: str
    rounds: tuple[LoopRound, ...]
    conclusion: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def end_reason(self) -> DecisionReason | None:
        """Return the reason why the loop ended, or ``None`` if something failed or the first retrieval found
        nothing.
        """
        last = self.rounds[-1]
        return last.why if last.decision is LoopDecision.ANSWER and not last.failure else None
