"""The router: Algorithm 1 as the paper writes it, and after its rules the one on precision."""

from itertools import product

import pytest
from memr3_bank import found, gap, piece

from recollect.errors import InvalidInput
from recollect.methods.memr3.router import decide, find_forced_decision, list_open_decisions, render_directive
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import LoopState
from recollect.methods.memr3.trace import DECISION_REASONS, DecisionReason, LoopDecision, Snippet, TrackerState

SNIPPET = Snippet(number=1, evidence=piece("a", "Ada paints."), shown="[1] Ada paints.")
SETTINGS = LoopSettings(n_max=4, n_cap=2)


def algorithm(k, snippets, streak, n_max, n_cap, generated):
    """Algorithm 1, line by line; ``snippets`` are those of a retrieval right before, ``None`` where there was none."""
    if k >= n_max:
        return LoopDecision.ANSWER
    if snippets == ():
        return LoopDecision.REFLECT
    if streak >= n_cap:
        return LoopDecision.RETRIEVE
    return generated


def state_at(k, snippets, streak):
    acted = LoopDecision.REFLECT if snippets is None else LoopDecision.RETRIEVE
    return LoopState(question="q", iteration=k, streak=streak, last_decision=acted, snippets=snippets or ())


CASES = list(product(range(1, 7), [None, (), (SNIPPET,)], range(4), LoopDecision))


@pytest.mark.parametrize(("k", "snippets", "streak", "wanted"), CASES)
def test_the_rules_stand_in_their_order(k, snippets, streak, wanted):
    routed = decide(state_at(k, snippets, streak), wanted, SETTINGS)
    assert routed.decision is algorithm(k, snippets, streak, 4, 2, wanted)


@pytest.mark.parametrize(
    ("k", "snippets", "streak", "why"),
    [
        (4, (), 9, DecisionReason.BUDGET),
        (3, (), 9, DecisionReason.EMPTY),
        (3, None, 2, DecisionReason.STREAK),
        (3, None, 1, DecisionReason.MODEL),
        (1, (SNIPPET,), 0, DecisionReason.MODEL),
    ],
)
def test_who_has_decided_is_said(k, snippets, streak, why):
    assert decide(state_at(k, snippets, streak), LoopDecision.ANSWER, SETTINGS).why is why


@pytest.mark.parametrize(("k", "snippets", "streak"), dict.fromkeys(case[:3] for case in CASES))
def test_the_directive_opens_what_the_router_lets_through(k, snippets, streak):
    state = state_at(k, snippets, streak)
    opened = list_open_decisions(state, SETTINGS)
    assert set(opened) == {decide(state, wanted, SETTINGS).decision for wanted in LoopDecision}
    words = render_directive(state, SETTINGS)
    assert [one for one in LoopDecision if one in words.partition(", since")[0]] == list(opened)
    rule = find_forced_decision(state, SETTINGS)
    assert rule is None or DECISION_REASONS[rule.why] in words


def test_a_retrieval_that_was_reflected_on_is_past():
    state = state_at(2, (), 0)
    assert decide(state, LoopDecision.ANSWER, SETTINGS).why is DecisionReason.EMPTY
    after = LoopState(question="q", iteration=3, streak=1, last_decision=LoopDecision.REFLECT)
    assert decide(after, LoopDecision.ANSWER, SETTINGS) == decide(
        after, LoopDecision.ANSWER, LoopSettings(settles=False)
    )
    assert decide(after, LoopDecision.ANSWER, SETTINGS).why is DecisionReason.MODEL


YEAR = TrackerState(evidence=(found("In 2022.", 1),), gaps=(gap("the day", finer=True),))


@pytest.mark.parametrize("wanted", [LoopDecision.RETRIEVE, LoopDecision.REFLECT])
def test_what_was_looked_for_more_exactly_in_vain_is_answered_as_it_is_known(wanted):
    state = LoopState(question="q", iteration=2, snippets=(SNIPPET,), known=YEAR, sought_finer=True)
    routed = decide(state, wanted, SETTINGS)
    assert (routed.decision, routed.why) == (LoopDecision.ANSWER, DecisionReason.PRECISION)
    assert decide(state, wanted, LoopSettings(settles=False)).decision is wanted


def test_the_rules_of_the_paper_come_before_that_of_precision():
    state = LoopState(question="q", iteration=2, snippets=(), known=YEAR, sought_finer=True)
    assert decide(state, LoopDecision.RETRIEVE, SETTINGS).why is DecisionReason.EMPTY


@pytest.mark.parametrize("name", ["n_max", "n_chk", "n_cap"])
def test_numbers_out_of_range_are_refused(name):
    with pytest.raises(InvalidInput, match=f"{name} is 0"):
        LoopSettings(**{name: 0})


def test_the_constants_are_those_of_the_paper():
    assert (LoopSettings().n_max, LoopSettings().n_chk) == (5, 5)
