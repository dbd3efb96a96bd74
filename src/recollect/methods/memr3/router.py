"""The router (section 3.4, Algorithm 1): it decides the next action, and says if the model or a rule decided."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import LoopState
from recollect.methods.memr3.trace import DECISION_REASONS, DecisionReason, LoopDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedDecision:
    """A decision, and who or what has taken it."""

    decision: LoopDecision
    why: DecisionReason


def find_forced_decision(state: LoopState, settings: LoopSettings) -> RoutedDecision | None:
    """Return the decision of a rule, whatever the model wants, or ``None`` if no rule applies.

    The rules are lines 3 to 8 of Algorithm 1 in their order. The paper checks for an empty retrieval right after it. So
    reflection is forced once after an empty retrieval, and then the model is free again.
    """
    if state.iteration >= settings.n_max:
        return RoutedDecision(decision=LoopDecision.ANSWER, why=DecisionReason.BUDGET)
    if state.has_found_nothing:
        return RoutedDecision(decision=LoopDecision.REFLECT, why=DecisionReason.EMPTY)
    if state.streak >= settings.n_cap:
        return RoutedDecision(decision=LoopDecision.RETRIEVE, why=DecisionReason.STREAK)
    return None


def decide(state: LoopState, wanted: LoopDecision, settings: LoopSettings) -> RoutedDecision:
    """Return the next action, after the tracker has updated the state.

    A rule of ours follows the rules of Algorithm 1. It applies if only a finer precision is missing, and one
    retrieval has already searched for this alone. Then the question is answered at the precision that memory has
    (appendix B.5).
    """
    if rule := find_forced_decision(state, settings):
        return rule
    if settings.settles and state.sought_finer and wanted is not LoopDecision.ANSWER:
        return RoutedDecision(decision=LoopDecision.ANSWER, why=DecisionReason.PRECISION)
    return RoutedDecision(decision=wanted, why=DecisionReason.MODEL)


def list_open_decisions(state: LoopState, settings: LoopSettings) -> tuple[LoopDecision, ...]:
    """Return the decisions that the model can take: one if a rule has decided, otherwise all."""
    rule = find_forced_decision(state, settings)
    return tuple(LoopDecision) if rule is None else (rule.decision,)


def render_directive(state: LoopState, settings: LoopSettings) -> str:
    """Return the line of the prompt that tells the model which decisions are open (appendix A.1)."""
    rule = find_forced_decision(state, settings)
    if rule is None:
        return f"Decisions open now: {', '.join(list_open_decisions(state, settings))}."
    return f"The only decision open now is {rule.decision}, since {DECISION_REASONS[rule.why]}."
