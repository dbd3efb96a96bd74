"""The evidence-gap tracker: the reply of a generation, and its effect on the state (section 3.3, equation 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from recollect.methods.memr3.state import LoopState
from recollect.methods.memr3.trace import Finding, Gap, LoopDecision, TrackerState


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationReply:
    """The updated evidence and gaps, and a decision with its query, its reasoning or its draft of an answer."""

    __pydantic_config__: ClassVar = {"title": "Generated"}  # its name in requests to a model, recorded ones too

    evidence: tuple[Finding, ...]
    gaps: tuple[Gap, ...]
    decision: Literal["retrieve", "reflect", "answer"]
    query: str = ""
    reasoning: str = ""
    draft: str = ""

    def __post_init__(self) -> None:
        if not self.content:
            raise ValueError(f"the decision is {self.decision}, and {_CONTENT[LoopDecision(self.decision)]} is empty")
        both = {_normalize(one.fact) for one in self.evidence} & {_normalize(gap.missing) for gap in self.gaps}
        if both:
            raise ValueError(f"{both.pop()!r} stands among evidence and among gaps; it is known or missing, not both")

    @property
    def content(self) -> str:
        """Return the text that belongs to the decision: the query, the reasoning or the draft."""
        given = {
            LoopDecision.RETRIEVE: self.query,
            LoopDecision.REFLECT: self.reasoning,
            LoopDecision.ANSWER: self.draft,
        }
        return given[LoopDecision(self.decision)].strip()

    @property
    def refinement(self) -> str:
        """Return the words to search for: the query, or the gaps if there is no query.

        There may be no query if a rule chose the retrieval.
        """
        return self.query.strip() or "; ".join(gap.missing.strip() for gap in self.gaps)


_CONTENT = {LoopDecision.RETRIEVE: "the query", LoopDecision.REFLECT: "the reasoning", LoopDecision.ANSWER: "the draft"}


def require_known_snippets(reply: GenerationReply, state: LoopState) -> None:
    """Raise ValueError if evidence rests on a snippet that was never retrieved for this question."""
    for finding in reply.evidence:
        for number in finding.snippets:
            if not 1 <= number <= len(state.all_snippets):
                shown = (
                    f"they are numbered 1 to {len(state.all_snippets)}"
                    if state.all_snippets
                    else "none was found so far"
                )
                raise ValueError(f"the evidence {finding.fact!r} rests on snippet {number}, and there is none; {shown}")


def apply_generation(state: LoopState, reply: GenerationReply) -> LoopState:
    """Return the state with the evidence, gaps and draft of the reply.

    The evidence of the reply replaces the old evidence. The model itself carries over what is still needed, and may
    summarize it.
    """
    known = TrackerState(evidence=reply.evidence, gaps=reply.gaps)
    return replace(
        state,
        known=known,
        draft=reply.draft.strip(),
        sought_finer=state.sought_finer and known.lacks_only_precision,
    )


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
