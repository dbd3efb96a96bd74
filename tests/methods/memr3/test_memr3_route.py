"""The router: Algorithm 1 as the paper writes it, and after its rules the one on precision."""

from itertools import product

import pytest
from memr3_bank import found, gap, piece

from recollect.domain.loops import REASONS, Decision, Known, Reason, Snippet
from recollect.errors import InvalidInput
from recollect.methods.memr3.route import directive, forced, open_decisions, route
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import State

SNIPPET = Snippet(number=1, evidence=piece("a", "Ada paints."), shown="[1] Ada paints.")
SETTINGS = LoopSettings(n_max=4, n_cap=2)


def algorithm(k, snippets, streak, n_max, n_cap, generated):
    """Algorithm 1, line by line; ``snippets`` are those of a retrieval right before, ``None`` where there was none."""
    if k >= n_max:
        return Decision.ANSWER
    if snippets == ():
        return Decision.REFLECT
    if streak >= n_cap:
        return Decision.RETRIEVE
    return generated


def state_at(k, snippets, streak):
    acted = Decision.REFLECT if snippets is None else Decision.RETRIEVE
    return State(question="q", iteration=k, streak=streak, acted=acted, snippets=snippets or ())


CASES = list(product(range(1, 7), [None, (), (SNIPPET,)], range(4), Decision))


@pytest.mark.parametrize(("k", "snippets", "streak", "wanted"), CASES)
def test_the_rules_stand_in_their_order(k, snippets, streak, wanted):
    routed = route(state_at(k, snippets, streak), wanted, SETTINGS)
    assert routed.decision is algorithm(k, snippets, streak, 4, 2, wanted)


@pytest.mark.parametrize(
    ("k", "snippets", "streak", "why"),
    [
        (4, (), 9, Reason.BUDGET),
        (3, (), 9, Reason.EMPTY),
        (3, None, 2, Reason.STREAK),
        (3, None, 1, Reason.MODEL),
        (1, (SNIPPET,), 0, Reason.MODEL),
    ],
)
def test_who_has_decided_is_said(k, snippets, streak, why):
    assert route(state_at(k, snippets, streak), Decision.ANSWER, SETTINGS).why is why


@pytest.mark.parametrize(("k", "snippets", "streak"), dict.fromkeys(case[:3] for case in CASES))
def test_the_directive_opens_what_the_router_lets_through(k, snippets, streak):
    state = state_at(k, snippets, streak)
    opened = open_decisions(state, SETTINGS)
    assert set(opened) == {route(state, wanted, SETTINGS).decision for wanted in Decision}
    words = directive(state, SETTINGS)
    assert [one for one in Decision if one in words.partition(", since")[0]] == list(opened)
    rule = forced(state, SETTINGS)
    assert rule is None or REASONS[rule.why] in words


def test_a_retrieval_that_was_reflected_on_is_past():
    state = state_at(2, (), 0)
    assert route(state, Decision.ANSWER, SETTINGS).why is Reason.EMPTY
    after = State(question="q", iteration=3, streak=1, acted=Decision.REFLECT)
    assert route(after, Decision.ANSWER, SETTINGS) == route(after, Decision.ANSWER, LoopSettings(settles=False))
    assert route(after, Decision.ANSWER, SETTINGS).why is Reason.MODEL


YEAR = Known(evidence=(found("In 2022.", 1),), gaps=(gap("the day", finer=True),))


@pytest.mark.parametrize("wanted", [Decision.RETRIEVE, Decision.REFLECT])
def test_what_was_looked_for_more_exactly_in_vain_is_answered_as_it_is_known(wanted):
    state = State(question="q", iteration=2, snippets=(SNIPPET,), known=YEAR, sought_finer=True)
    routed = route(state, wanted, SETTINGS)
    assert (routed.decision, routed.why) == (Decision.ANSWER, Reason.PRECISION)
    assert route(state, wanted, LoopSettings(settles=False)).decision is wanted


def test_the_rules_of_the_paper_come_before_that_of_precision():
    state = State(question="q", iteration=2, snippets=(), known=YEAR, sought_finer=True)
    assert route(state, Decision.RETRIEVE, SETTINGS).why is Reason.EMPTY


@pytest.mark.parametrize("name", ["n_max", "n_chk", "n_cap"])
def test_numbers_out_of_range_are_refused(name):
    with pytest.raises(InvalidInput, match=f"{name} is 0"):
        LoopSettings(**{name: 0})


def test_the_constants_are_those_of_the_paper():
    assert (LoopSettings().n_max, LoopSettings().n_chk) == (5, 5)
