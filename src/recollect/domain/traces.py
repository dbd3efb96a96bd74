"""What a loop that looks, thinks and decides has done for a question (MemR3, section 3.2 and 3.3), as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from recollect.domain.recalls import Evidence
from recollect.domain.usage import Usage


class LoopDecision(StrEnum):
    """What can be done next (MemR3, equation 4)."""

    RETRIEVE = "retrieve"
    REFLECT = "reflect"
    ANSWER = "answer"


class DecisionReason(StrEnum):
    """Who or what has decided: the model, or a rule."""

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
"""Why a decision was taken, for a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A statement that bears on the question; snippets are the numbers of those it rests on."""

    fact: str
    snippets: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.fact.strip():
            raise ValueError("an entry of evidence is empty")
        if not self.snippets:
            raise ValueError(f"the evidence {self.fact!r} rests on nothing: name the snippets that say it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that is missing; finer says that it is known, only less exactly than might be wished."""

    missing: str
    finer: bool = False

    def __post_init__(self) -> None:
        if not self.missing.strip():
            raise ValueError("a gap is empty; give no gap where nothing is missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerState:
    """The tracker's two sides at one moment: evidence and gaps (MemR3, section 3.3)."""

    evidence: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def lacks_only_precision(self) -> bool:
        """Whether something is missing, and nothing but a finer precision of what is known."""
        return bool(self.evidence) and bool(self.gaps) and all(gap.finer for gap in self.gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Something that was retrieved: its number in this question, from 1, and how a prompt shows it."""

    number: int
    evidence: Evidence
    shown: str

    @property
    def id(self) -> str:
        return self.evidence.id


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRound:
    """One iteration: what the model made of the state, what was decided and why, and what came of it.

    Number 0 is the retrieval that every question begins with. ``wanted`` is the model's decision, ``content`` the
    query, the reasoning or the draft that it gave with it; ``decision`` is the router's, and ``why`` says who or what
    took it. ``query`` is what was looked for, and ``snippets`` what that brought. ``before`` and ``after`` are evidence
    and gaps before and after the generation. ``usage`` is of the model's call, ``seconds`` of the whole iteration.
    ``failure`` says what went wrong, and ended the loop: where ``decision`` is ``None``, the generation, else what was
    decided.
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
        """Whether another iteration follows."""
        return self.decision is not LoopDecision.ANSWER and not self.failure

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing. Where nothing is known, or more was wanted, it is only that no gap was named."""
        return bool(self.after.evidence) and not self.after.gaps and self.wanted is not LoopDecision.RETRIEVE

    @property
    def new_findings(self) -> tuple[Finding, ...]:
        """What is known since this iteration and was not before."""
        known = {finding.fact for finding in self.before.evidence}
        return tuple(finding for finding in self.after.evidence if finding.fact not in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTrace:
    """All that a loop did for a question: the iterations, and the call that wrote the answer.

    ``conclusion`` is that call's reasoning, ``None`` where there was no evidence and so no call; ``usage`` and
    ``seconds`` are what it took.
    """

    question: str
    rounds: tuple[LoopRound, ...]
    conclusion: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def end_reason(self) -> DecisionReason | None:
        """Who or what ended the loop; ``None`` where something failed, or nothing was found to begin with."""
        last = self.rounds[-1]
        return last.why if last.decision is LoopDecision.ANSWER and not last.failure else None
