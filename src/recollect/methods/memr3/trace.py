"""The record of a loop that retrieves, reflects and decides for a question (MemR3, sections 3.2 and 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from recollect.answering.evidence import join_lines
from recollect.domain.answers import Answer, TraceLine
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

GENERATE: Final = "generate"
"""The name of a step without a decision, because the generation failed."""


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
    failed. Otherwise the decided action failed. See :class:`recollect.domain.answers.TraceStep`.
    """

    kind: ClassVar[str] = "memr3.round"

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

    @property
    def action(self) -> str:
        return self.decision or GENERATE

    @property
    def detail(self) -> str:
        """Return what became known, what is missing, and what was done."""
        return "; ".join([*_describe_changes(self), _describe_action(self)])

    @property
    def lines(self) -> tuple[TraceLine, ...]:
        """Return what was decided and by whom, what is known and missing, the thought or draft, and the search with its
        results.
        """
        return (
            TraceLine(mark=f"{self.number}.", text=_describe_decision(self)),
            *_list_state(self),
            *_list_content(self),
            *_list_search(self),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopConclusion:
    """The call that wrote the answer from the evidence of the loop (equation 6), and its cost.

    See :class:`recollect.domain.answers.TraceStep`.
    """

    kind: ClassVar[str] = "memr3.conclusion"
    action: ClassVar[str] = "conclude"

    reasoning: str
    usage: Usage
    seconds: float

    @property
    def detail(self) -> str:
        return join_lines(self.reasoning)

    @property
    def lines(self) -> tuple[TraceLine, ...]:
        return (TraceLine(mark="=", text=f"concluded: {self.reasoning}"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTrace:
    """The whole record of a loop for a question: its iterations, and the call that wrote the answer.

    ``conclusion`` is ``None`` if there was no evidence, and so no call.
    """

    rounds: tuple[LoopRound, ...]
    conclusion: LoopConclusion | None = None

    @property
    def question(self) -> str:
        """Return the question. Every loop begins with a search for it."""
        return self.rounds[0].query

    @property
    def end_reason(self) -> DecisionReason | None:
        """Return the reason why the loop ended, or ``None`` if something failed or the first retrieval found
        nothing.
        """
        last = self.rounds[-1]
        return last.why if last.decision is LoopDecision.ANSWER and not last.failure else None


def get_loop(answer: Answer) -> LoopTrace | None:
    """Return the loop in the trace of an answer, or ``None`` if the answer did not come from a loop."""
    rounds = tuple(step for step in answer.trace if isinstance(step, LoopRound))
    conclusions = (step for step in answer.trace if isinstance(step, LoopConclusion))
    return LoopTrace(rounds=rounds, conclusion=next(conclusions, None)) if rounds else None


def _describe_changes(one: LoopRound) -> Iterator[str]:
    """Yield in words what the generation has changed. Yield nothing if there was no generation."""
    if one.wanted is None:
        return
    for finding in one.new_findings:
        yield f"known now: {join_lines(finding.fact)} {format_numbers(finding.snippets)}"
    if one.after.gaps:
        yield f"missing: {', '.join(join_lines(gap.missing) for gap in one.after.gaps)}"
    elif one.is_complete:
        yield "nothing is missing"


def _describe_action(one: LoopRound) -> str:
    if one.failure:
        return f"could not {one.decision or GENERATE}: {join_lines(one.failure)}"
    spent = one.usage.tokens_in + one.usage.tokens_out
    cost = f" ({spent:,} tokens)" if spent else ""
    match one.decision:
        case LoopDecision.RETRIEVE:
            return (
                f"looked for {join_lines(one.query)!r}: {_describe_snippets(one.snippets)}{_describe_reason(one)}{cost}"
            )
        case LoopDecision.REFLECT:
            thought = join_lines(one.content) if one.wanted is LoopDecision.REFLECT else "on what is known"
            return f"reflected: {thought}{_describe_reason(one)}{cost}"
        case _:
            return f"to be answered{_describe_reason(one)}{cost}"


def _describe_reason(one: LoopRound) -> str:
    """Return the reason for the action in words. It is empty for the model's own choice and for the first retrieval."""
    if one.why in (DecisionReason.MODEL, DecisionReason.START):
        return ""
    return f", since {DECISION_REASONS[one.why]}"


def _describe_snippets(snippets: Sequence[Snippet]) -> str:
    if not snippets:
        return "nothing new"
    return f"{len(snippets)} new {format_numbers([snippet.number for snippet in snippets])}"


def format_numbers(numbers: Sequence[int]) -> str:
    """Return numbers of snippets as prompts and traces show them: "[1, 4]"."""
    return f"[{', '.join(map(str, numbers))}]"


def _describe_decision(one: LoopRound) -> str:
    """Return the decision, its reason, and what the model would have chosen if that is different."""
    if one.decision is None:
        return "nothing was decided"
    wish = f"; the model would have chosen to {one.wanted}" if one.wanted not in (None, one.decision) else ""
    return f"{one.decision}: {DECISION_REASONS[one.why]}{wish}"


def _list_state(one: LoopRound) -> Iterator[TraceLine]:
    """Yield what is known after the iteration, with new findings marked, and what is missing."""
    if one.wanted is None:
        return
    for finding in one.after.evidence:
        mark = "+" if finding in one.new_findings else "·"
        yield TraceLine(mark=mark, text=f"known: {join_lines(finding.fact)} {format_numbers(finding.snippets)}")
    for gap in one.after.gaps:
        finer = " (it is known, but not exactly enough)" if gap.finer else ""
        yield TraceLine(mark="?", text=f"missing: {join_lines(gap.missing)}{finer}")
    if one.is_complete:
        yield TraceLine(text="nothing is missing")


_CONTENT_NAMES: Final = {LoopDecision.REFLECT: "thought", LoopDecision.ANSWER: "draft"}
"""The words for the content that a model returns with its decision."""


def _list_content(one: LoopRound) -> Iterator[TraceLine]:
    if one.wanted in _CONTENT_NAMES:
        yield TraceLine(text=f"{_CONTENT_NAMES[one.wanted]}: {one.content}")


def _list_search(one: LoopRound) -> Iterator[TraceLine]:
    """Yield the text of the search with its results, and the failure if the iteration failed."""
    if one.query:
        yield TraceLine(text=f"looked for: {one.query}")
        for snippet in one.snippets:
            yield TraceLine(mark=f"[{snippet.number}]", text=snippet.evidence.text, evidence=snippet.evidence)
        if not one.snippets and not one.failure:
            yield TraceLine(text="nothing new was found")
    if one.failure:
        yield TraceLine(text=f"failed: {one.failure}")
