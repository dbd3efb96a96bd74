"""The evidence-gap tracker: what a generation gives, and what it does to the state (section 3.3, equation 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from recollect.domain.loops import Decision, Finding, Gap, Known
from recollect.methods.memr3.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """Evidence and gaps brought up to date, and a decision: with its query, its reasoning or its draft of an answer."""

    evidence: tuple[Finding, ...]
    gaps: tuple[Gap, ...]
    decision: Literal["retrieve", "reflect", "answer"]
    query: str = ""
    reasoning: str = ""
    draft: str = ""

    def __post_init__(self) -> None:
        if not self.content:
            raise ValueError(f"the decision is {self.decision}, and {_CONTENT[Decision(self.decision)]} is empty")
        both = {_plain(one.fact) for one in self.evidence} & {_plain(gap.missing) for gap in self.gaps}
        if both:
            raise ValueError(f"{both.pop()!r} stands among evidence and among gaps; it is known or missing, not both")

    @property
    def content(self) -> str:
        """What comes with the decision."""
        given = {Decision.RETRIEVE: self.query, Decision.REFLECT: self.reasoning, Decision.ANSWER: self.draft}
        return given[Decision(self.decision)].strip()

    @property
    def refinement(self) -> str:
        """What to look for: the query; where a rule made it a retrieval and there is none, what is missing."""
        return self.query.strip() or "; ".join(gap.missing.strip() for gap in self.gaps)


_CONTENT = {Decision.RETRIEVE: "the query", Decision.REFLECT: "the reasoning", Decision.ANSWER: "the draft"}


def require_retrieved(reply: Generated, state: State) -> None:
    """Raises ValueError where evidence rests on a snippet that was never retrieved for this question."""
    for finding in reply.evidence:
        for number in finding.snippets:
            if not 1 <= number <= len(state.seen):
                shown = f"they are numbered 1 to {len(state.seen)}" if state.seen else "none was found so far"
                raise ValueError(f"the evidence {finding.fact!r} rests on snippet {number}, and there is none; {shown}")


def tracked(state: State, reply: Generated) -> State:
    """The state with what the model makes of it. Evidence is the model's to carry over: it may sum up."""
    known = Known(evidence=reply.evidence, gaps=reply.gaps)
    return replace(
        state,
        known=known,
        draft=reply.draft.strip(),
        sought_finer=state.sought_finer and known.lacks_precision_alone,
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
