"""The router (section 3.4, Algorithm 1): what is done next, and who or what decides."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.loops import REASONS, Decision, Reason
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """A decision, and who or what has taken it."""

    decision: Decision
    why: Reason


def forced(state: State, settings: LoopSettings) -> Routed | None:
    """Lines 3 to 8 of Algorithm 1 in their order: what a rule decides, whatever the model wants; ``None`` for none.

    The paper checks for an empty retrieval right after it: the reflection on it is forced once, and the model is free
    again after that.
    """
    if state.iteration >= settings.n_max:
        return Routed(decision=Decision.ANSWER, why=Reason.BUDGET)
    if state.found_nothing:
        return Routed(decision=Decision.REFLECT, why=Reason.EMPTY)
    if state.streak >= settings.n_cap:
        return Routed(decision=Decision.RETRIEVE, why=Reason.STREAK)
    return None


def route(state: State, wanted: Decision, settings: LoopSettings) -> Routed:
    """What is done next, once the tracker has brought the state up to date.

    Algorithm 1, and after its rules ours: where a retrieval has looked for nothing but a finer precision, and that is
    all that is still missing, the question is answered at the precision that memory has (appendix B.5).
    """
    if rule := forced(state, settings):
        return rule
    if settings.settles and state.sought_finer and wanted is not Decision.ANSWER:
        return Routed(decision=Decision.ANSWER, why=Reason.PRECISION)
    return Routed(decision=wanted, why=Reason.MODEL)


def open_decisions(state: State, settings: LoopSettings) -> tuple[Decision, ...]:
    """What the model can decide: one thing where a rule has decided, else anything."""
    rule = forced(state, settings)
    return tuple(Decision) if rule is None else (rule.decision,)


def directive(state: State, settings: LoopSettings) -> str:
    """What tells the model which decisions are open (appendix A.1)."""
    rule = forced(state, settings)
    if rule is None:
        return f"Decisions open now: {', '.join(open_decisions(state, settings))}."
    return f"The only decision open now is {rule.decision}, since {REASONS[rule.why]}."
