"""The state of the loop as a value, and the change that each action makes to it (section 3.2, equation 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.domain.recalls import Evidence
from recollect.methods.memr3.trace import LoopDecision, Snippet, TrackerState


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """The state of the loop.

    ``snippets`` are those of the last retrieval only. They stay over reflections, and do not accumulate (section 3.4).
    ``all_snippets`` are all snippets so far, in the order of their numbers. ``mask`` has their ids, and the ids that
    the question itself excludes.

    ``iteration`` is k: the number of actions so far, including the retrieval at the start. It is also the number of the
    next generation. ``streak`` counts the reflections right before the next generation. ``last_decision`` is the last
    action. ``reasoning`` is the result of the last action if that was a reflection. ``queries`` are the refinements so
    far.

    ``sought_finer`` is true if a retrieval was made while only precision was missing, and still only precision is
    missing.
    """

    question: str
    mask: frozenset[str] = frozenset()
    snippets: tuple[Snippet, ...] = ()
    all_snippets: tuple[Snippet, ...] = ()
    known: TrackerState = TrackerState()
    iteration: int = 0
    streak: int = 0
    last_decision: LoopDecision = LoopDecision.RETRIEVE
    reasoning: str = ""
    queries: tuple[str, ...] = ()
    draft: str = ""
    sought_finer: bool = False

    @property
    def has_found_nothing(self) -> bool:
        """Return true if the last action is a retrieval that found nothing. After a reflection it is false again."""
        return self.last_decision is LoopDecision.RETRIEVE and not self.snippets

    @property
    def cited_numbers(self) -> tuple[int, ...]:
        """Return the numbers of the snippets on which the evidence rests, each once."""
        return tuple(dict.fromkeys(number for one in self.known.evidence for number in one.snippets))


def build_query_text(state: LoopState, refinement: str) -> str:
    """Return the text to search for: the question joined with the refinement (equation 5)."""
    return f"{state.question} {refinement}".strip()


def drop_seen(state: LoopState, found: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the evidence that is new, each piece once.

    No snippet appears twice, even if the retriever ignores its mask.
    """
    return tuple({one.id: one for one in found if one.id not in state.mask}.values())


def apply_retrieval(state: LoopState, refinement: str, snippets: Sequence[Snippet]) -> LoopState:
    """Return the state after a retrieval. Its snippets replace the last ones, and are masked from now on."""
    return replace(
        state,
        snippets=tuple(snippets),
        all_snippets=(*state.all_snippets, *snippets),
        mask=state.mask | {snippet.id for snippet in snippets},
        queries=(*state.queries, refinement) if refinement else state.queries,
        iteration=state.iteration + 1,
        streak=0,
        last_decision=LoopDecision.RETRIEVE,
        reasoning="",
        sought_finer=state.known.lacks_only_precision,
    )


def apply_reflection(state: LoopState, reasoning: str) -> LoopState:
    """Return the state after a reflection. The next generation reads its reasoning."""
    return replace(
        state,
        iteration=state.iteration + 1,
        streak=state.streak + 1,
        last_decision=LoopDecision.REFLECT,
        reasoning=reasoning or state.reasoning,
    )
