"""What the master knows while it works on a question: E-mem's reasoning trace (section 3.4), as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from recollect.answering.evidence import one_line
from recollect.domain.answers import Step
from recollect.domain.recalls import Recall
from recollect.methods.emem.activation import Activated
from recollect.methods.emem.assistants import Assisted
from recollect.methods.emem.evidence import Pairs
from recollect.methods.emem.master import Plan
from recollect.methods.emem.quotes import Quote, once
from recollect.models.language import Reply


class Ending(StrEnum):
    """Why no further pass is made (equation 8)."""

    ENOUGH = "the quotes are enough"
    CONVERGED = "the last pass has brought nothing new"
    REPEATED = "the next question has been asked already"
    LIMIT = "the limit of passes is reached"
    FAILED = "the last pass has failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What all passes so far have brought.

    ``asked`` are their questions; ``quotes`` are in the order in which they came: pass by pass, and in each by the
    strength of their segments.
    """

    asked: tuple[str, ...] = ()
    recalls: tuple[Recall, ...] = ()
    read: Pairs = ()
    assisted: tuple[Assisted, ...] = ()
    quotes: tuple[Quote, ...] = ()
    plans: tuple[Reply[Plan], ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    def after(self, question: str, recall: Recall, read: Pairs, assisted: Sequence[Assisted], step: Step) -> Known:
        """With what one more pass has brought (the aggregation of equation 8)."""
        return replace(
            self,
            asked=(*self.asked, question),
            recalls=(*self.recalls, recall),
            read=(*self.read, *read),
            assisted=(*self.assisted, *assisted),
            quotes=(*self.quotes, *once((q for one in assisted for q in one.quotes), self.quotes)),
            steps=(*self.steps, step, *(one.step() for one in assisted)),
            notes=(*self.notes, *(note for one in assisted for note in one.notes())),
        )

    def planned(self, plan: Reply[Plan], seconds: float) -> Known:
        """With the plan for the next pass."""
        told = plan.value.known if plan.value.enough else f"{plan.value.known} Next: {one_line(plan.value.query)}"
        return replace(
            self,
            plans=(*self.plans, plan),
            steps=(*self.steps, Step(action="plan", detail=told.strip(), seconds=seconds)),
            notes=(*self.notes, *plan.notes),
        )

    def ended(self, ending: Ending, *notes: str) -> Known:
        """With why no further pass is made."""
        step = Step(action="stop", detail=ending.value, seconds=0.0)
        return replace(self, steps=(*self.steps, step), notes=(*self.notes, *notes))

    def ending_by(self, plan: Plan) -> Ending | None:
        """Why a plan ends it; ``None`` where it asks for something new."""
        if plan.enough:
            return Ending.ENOUGH
        before = {one_line(question).casefold() for question in self.asked}
        return Ending.REPEATED if one_line(plan.query).casefold() in before else None


def told(activated: Sequence[Activated], seconds: float) -> Step:
    """A routing as a step: which segments, and which pathways brought each."""
    named = (f"segment {one.number} ({', '.join(why.arm for why in one.why)})" for one in activated)
    return Step(action="route", detail="; ".join(named) or "no segment found", seconds=seconds)
