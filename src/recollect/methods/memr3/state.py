"""Where the loop stands: a value, and how each action changes it (section 3.2, equation 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.domain.recalls import Evidence
from recollect.domain.traces import LoopDecision, Snippet, TrackerState


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """The loop's state.

    ``snippets`` are those of the last retrieval alone: they stay over reflections, and are not accumulated (section
    3.4). ``all_snippets`` are all so far, in the order of their numbers; ``mask`` holds their ids, and what the
    question itself leaves out. ``iteration`` is k: how many actions there were, the retrieval at the start among them,
    which is also the number of the generation that comes next. ``streak`` counts the reflections right before it.
    ``last_decision`` is the last action, ``reasoning`` what it left where that was a reflection, ``queries`` the
    refinements so far. ``sought_finer``: a retrieval was made while nothing but precision was missing, and that is
    still so.
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
        """Whether the retrieval that was just made brought nothing; after a reflection on that, it is past."""
        return self.last_decision is LoopDecision.RETRIEVE and not self.snippets

    @property
    def cited_numbers(self) -> tuple[int, ...]:
        """The numbers of the snippets that the evidence rests on, each once."""
        return tuple(dict.fromkeys(number for one in self.known.evidence for number in one.snippets))


def build_query_text(state: LoopState, refinement: str) -> str:
    """What is looked for: the question joined to the refinement (equation 5)."""
    return f"{state.question} {refinement}".strip()


def drop_seen(state: LoopState, found: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """What of it is new, each once: no snippet comes twice, whatever a retriever makes of its mask."""
    return tuple({one.id: one for one in found if one.id not in state.mask}.values())


def apply_retrieval(state: LoopState, refinement: str, snippets: Sequence[Snippet]) -> LoopState:
    """The state after a retrieval: its snippets take the place of the last ones, and are masked from now on."""
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
    """The state after a reflection: its reasoning is read by the next generation."""
    return replace(
        state,
        iteration=state.iteration + 1,
        streak=state.streak + 1,
        last_decision=LoopDecision.REFLECT,
        reasoning=reasoning or state.reasoning,
    )
