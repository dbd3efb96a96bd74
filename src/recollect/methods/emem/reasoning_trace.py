"""Keep what the master knows while it works on a question: E-mem's reasoning trace (section 3.4), as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from recollect.answering.evidence import join_lines
from recollect.domain.answers import Step, TraceStep
from recollect.domain.recalls import Recall
from recollect.methods.emem.activation import ActivatedSegment
from recollect.methods.emem.assistants import AssistantReport
from recollect.methods.emem.evidence import ActivatedReadings
from recollect.methods.emem.master import PassPlan
from recollect.methods.emem.quotes import Quote, drop_known
from recollect.models.language import Reply


class StopReason(StrEnum):
    """The reason why there is no further pass (equation 8)."""

    ENOUGH = "the quotes are enough"
    CONVERGED = "the last pass has brought nothing new"
    REPEATED = "the next question has been asked already"
    LIMIT = "the limit of passes is reached"
    FAILED = "the last pass has failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningTrace:
    """The results of all passes so far.

    ``questions`` are their questions. ``quotes`` are in the order in which they came: pass by pass, and in each pass by
    the strength of their segments.
    """

    questions: tuple[str, ...] = ()
    recalls: tuple[Recall, ...] = ()
    readings: ActivatedReadings = ()
    reports: tuple[AssistantReport, ...] = ()
    quotes: tuple[Quote, ...] = ()
    plans: tuple[Reply[PassPlan], ...] = ()
    steps: tuple[TraceStep, ...] = ()
    notes: tuple[str, ...] = ()

    def with_pass(
        self,
        question: str,
        recall: Recall,
        read: ActivatedReadings,
        assisted: Sequence[AssistantReport],
        step: TraceStep,
    ) -> ReasoningTrace:
        """Return the results together with those of one more pass (the aggregation of equation 8)."""
        return replace(
            self,
            questions=(*self.questions, question),
            recalls=(*self.recalls, recall),
            readings=(*self.readings, *read),
            reports=(*self.reports, *assisted),
            quotes=(*self.quotes, *drop_known((q for one in assisted for q in one.quotes), self.quotes)),
            steps=(*self.steps, step, *(one.step() for one in assisted)),
            notes=(*self.notes, *(note for one in assisted for note in one.notes())),
        )

    def with_plan(self, plan: Reply[PassPlan], seconds: float) -> ReasoningTrace:
        """Return the results with the plan for the next pass."""
        told = plan.value.known if plan.value.enough else f"{plan.value.known} Next: {join_lines(plan.value.query)}"
        return replace(
            self,
            plans=(*self.plans, plan),
            steps=(*self.steps, Step(action="plan", detail=told.strip(), seconds=seconds, usage=plan.usage)),
            notes=(*self.notes, *plan.notes),
        )

    def with_ending(self, ending: StopReason, *notes: str) -> ReasoningTrace:
        """Return the results with the reason why there is no further pass."""
        step = Step(action="stop", detail=ending.value, seconds=0.0)
        return replace(self, steps=(*self.steps, step), notes=(*self.notes, *notes))

    def stop_reason_of(self, plan: PassPlan) -> StopReason | None:
        """Return the reason why a plan ends the passes, or ``None`` if it asks something new."""
        if plan.enough:
            return StopReason.ENOUGH
        before = {join_lines(question).casefold() for question in self.questions}
        return StopReason.REPEATED if join_lines(plan.query).casefold() in before else None


def describe_routing(activated: Sequence[ActivatedSegment], seconds: float) -> Step:
    """Return a routing as a step of the trace: the segments, and the pathways that found each."""
    named = (f"segment {one.number} ({', '.join(why.arm for why in one.why)})" for one in activated)
    return Step(action="route", detail="; ".join(named) or "no segment found", seconds=seconds)
