"""What the loop did, as a value, and as a story for a reader (section 3.3: a trace that a user can follow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from recollect.agent.evidence import one_line
from recollect.domain.answers import Step
from recollect.domain.usage import Usage
from recollect.methods.memr3.route import REASONS, Why
from recollect.methods.memr3.state import Decision, Known, Snippet

GENERATE: Final = "generate"
CONCLUDE: Final = "conclude"
"""What steps are called in which nothing was decided, since the generation failed, or all was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One iteration: what the model made of the state, what was decided and why, and what came of it.

    Number 0 is the retrieval that every question begins with. ``wanted`` is the model's decision, ``content`` the
    query, the reasoning or the draft that it gave with it; ``decision`` is the router's, and ``why`` says who or what
    took it. ``query`` is what was looked for, and ``snippets`` what that brought. ``before`` and ``after`` are evidence
    and gaps before and after the generation. ``usage`` is of the model's call, ``seconds`` of the whole iteration.
    ``failure`` says what went wrong, and ended the loop: where ``decision`` is ``None``, the generation, else what was
    decided.
    """

    number: int
    decision: Decision | None = None
    why: Why = Why.MODEL
    wanted: Decision | None = None
    content: str = ""
    query: str = ""
    snippets: tuple[Snippet, ...] = ()
    before: Known = Known()
    after: Known = Known()
    usage: Usage = Usage()
    seconds: float = 0.0
    failure: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether another iteration follows."""
        return self.decision is not Decision.ANSWER and not self.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All that was done for a question: the iterations, and the call that wrote the answer.

    ``conclusion`` is that call's reasoning, ``None`` where there was no evidence and so no call; ``usage`` and
    ``seconds`` are what it took.
    """

    question: str
    rounds: tuple[Round, ...]
    conclusion: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def ended(self) -> Why | None:
        """Who or what ended the loop; ``None`` where something failed, or nothing was found to begin with."""
        last = self.rounds[-1]
        return last.why if last.decision is Decision.ANSWER and not last.failure else None

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done, in words."""
        steps = tuple(told(one) for one in self.rounds)
        if self.conclusion is None:
            return steps
        return (*steps, Step(action=CONCLUDE, detail=one_line(self.conclusion), seconds=self.seconds))


def told(one: Round) -> Step:
    """An iteration in words: what was learnt, what is missing, what was done about it."""
    parts = [*_learnt(one), _done(one)]
    return Step(action=one.decision or GENERATE, detail="; ".join(parts), seconds=one.seconds)


def _learnt(one: Round) -> Iterator[str]:
    """What the generation has changed, in words; nothing where there was none."""
    if one.wanted is None:
        return
    known = {finding.fact for finding in one.before.evidence}
    new = [finding for finding in one.after.evidence if finding.fact not in known]
    for finding in new:
        yield f"known now: {one_line(finding.fact)} {marks(finding.snippets)}"
    if one.after.gaps:
        yield f"missing: {', '.join(one_line(gap.missing) for gap in one.after.gaps)}"
    else:
        yield "nothing is missing"


def _done(one: Round) -> str:
    if one.failure:
        return f"could not {one.decision or GENERATE}: {one_line(one.failure)}"
    spent = one.usage.tokens_in + one.usage.tokens_out
    cost = f" ({spent:,} tokens)" if spent else ""
    match one.decision:
        case Decision.RETRIEVE:
            return f"looked for {one_line(one.query)!r}: {_brought(one.snippets)}{_chosen(one)}{cost}"
        case Decision.REFLECT:
            thought = one_line(one.content) if one.wanted is Decision.REFLECT else "on what is known"
            return f"reflected: {thought}{_chosen(one)}{cost}"
        case _:
            return f"to be answered{_chosen(one)}{cost}"


def _chosen(one: Round) -> str:
    """Why it was done, where that was not the model's own choice."""
    if one.why in (Why.MODEL, Why.START):
        return ""
    return f", since {REASONS[one.why]}"


def _brought(snippets: Sequence[Snippet]) -> str:
    if not snippets:
        return "nothing new"
    return f"{len(snippets)} new {marks([snippet.number for snippet in snippets])}"


def marks(numbers: Sequence[int]) -> str:
    """Numbers of snippets as prompts and stories show them: "[1, 4]"."""
    return f"[{', '.join(map(str, numbers))}]"
