"""Which way a question goes: every case, without a model."""

from itertools import product

import pytest
from blend_bank import first, found, gap, silent
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.recalls import ArmRank
from recollect.methods.default.first_pass import FirstPassReply
from recollect.methods.default.passages import choose_cover, put_holders_first
from recollect.methods.default.routing import (
    ROUTE_REASONS,
    FailedRoute,
    Route,
    RouteReason,
    RouteTaken,
    choose_route,
    fallback_route,
)
from recollect.methods.emem.activation import ActivatedSegment

CLOSED = "the bank holds no segments"
NO_GAP, FINER, OPEN, BOTH = (), (gap("the day", finer=True),), (gap("the place"),), (gap("the place"), gap(finer=True))

# For each: abstained, whole passages are needed, they cannot be read, what is missing.
CASES = {
    (False, False, NO_GAP): (Route.SUFFICES, RouteReason.COMPLETE),
    (False, False, FINER): (Route.SUFFICES, RouteReason.PRECISION),
    (False, False, OPEN): (Route.LOOP, RouteReason.GAP),
    (False, False, BOTH): (Route.LOOP, RouteReason.GAP),
    **{(True, False, gaps): (Route.LOOP, RouteReason.ABSTAINED) for gaps in (NO_GAP, FINER, OPEN, BOTH)},
    **{
        (abstained, True, gaps): (Route.PASSAGES, RouteReason.WHOLE)
        for abstained, gaps in product((False, True), (NO_GAP, FINER, OPEN, BOTH))
    },
}


@pytest.mark.parametrize("closed", [None, CLOSED])
@pytest.mark.parametrize(("abstained", "whole", "gaps"), list(CASES))
def test_every_case_has_its_way(abstained, whole, gaps, closed):
    reply = silent(*gaps, whole=whole) if abstained else first(gaps=gaps, whole=whole)
    wanted = CASES[abstained, whole, gaps]
    if whole and closed:
        wanted = (Route.LOOP, RouteReason.CLOSED)
    taken = choose_route(reply, closed)
    assert (taken.route, taken.reason) == wanted
    assert taken.case == (CLOSED if whole and closed else _missing(gaps, abstained and not whole))


def _missing(gaps, abstained):
    return "; ".join(one.missing for one in gaps) or ("Memory does not say." if abstained else "")


@pytest.mark.parametrize(
    ("reply", "tried", "after"),
    [
        (first(), FailedRoute(route=Route.PASSAGES), RouteTaken(route=Route.SUFFICES, reason=RouteReason.IN_VAIN)),
        (
            first(),
            FailedRoute(route=Route.PASSAGES, failure="x"),
            RouteTaken(route=Route.SUFFICES, reason=RouteReason.FAILED, case="x"),
        ),
        (
            first(),
            FailedRoute(route=Route.LOOP, failure="x"),
            RouteTaken(route=Route.SUFFICES, reason=RouteReason.FAILED, case="x"),
        ),
        (silent(), FailedRoute(route=Route.PASSAGES), RouteTaken(route=Route.LOOP, reason=RouteReason.IN_VAIN)),
        (
            silent(),
            FailedRoute(route=Route.PASSAGES, failure="x"),
            RouteTaken(route=Route.LOOP, reason=RouteReason.FAILED, case="x"),
        ),
        (silent(), FailedRoute(route=Route.LOOP, failure="x"), None),
    ],
)
def test_an_answer_stands_and_silence_is_looked_into(reply, tried, after):
    assert fallback_route(reply, tried) == after


def test_every_ground_is_told():
    assert set(ROUTE_REASONS) == set(RouteReason)
    step = RouteTaken(route=Route.LOOP, reason=RouteReason.GAP, case="the place")
    assert (step.action, step.detail) == ("route", "loop, since something is missing: the place")


@pytest.mark.parametrize("more", [{"abstained": True}, {"whole": True}, {"gaps": (gap("the place"),)}])
def test_what_is_to_be_looked_for_has_to_be_said(more):
    with pytest.raises(ValueError, match="there is no query"):
        first(**more, query=" ")


def test_what_the_loop_would_refuse_is_refused_at_once():
    with pytest.raises(ValueError, match="known or missing, not both"):
        first(gaps=[gap("The kite tore.")], known=(found("the kite tore", 1),))


@pytest.mark.parametrize(("answer", "citations"), [("", (1,)), ("It tore.", ())])
def test_an_answer_from_nowhere_is_refused(answer, citations):
    with pytest.raises(ValueError, match=r"empty|cites nothing"):
        FirstPassReply(reasoning="", answer=answer, abstained=False, citations=citations)


def test_a_first_pass_is_the_loops_first_generation():
    reply = first("In May.", 2, gaps=[gap("the place")], known=(found("It was in May.", 2, 3),))
    assert reply.to_generation.evidence == (found("It was in May.", 2, 3),)
    assert (reply.to_generation.decision, reply.to_generation.gaps) == ("retrieve", (gap("the place"),))
    assert first("In May.", 2, gaps=[gap()]).findings == (found("In May.", 2),)
    assert silent().findings == ()


def test_the_segments_that_hold_most_come_first_and_as_few_as_suffice():
    assert choose_cover({"a": [0], "b": [0, 1], "c": [1], "d": [1, 2]}) == (1, 0)
    assert choose_cover({"a": [0, 1], "b": [0, 1]}) == (0,)
    assert choose_cover({"a": [], "b": [3]}) == (3,)
    assert choose_cover({}) == ()


@given(st.dictionaries(st.text(max_size=3), st.sets(st.integers(0, 9), max_size=3)))
def test_every_message_that_a_segment_holds_is_covered(held):
    numbers = choose_cover(held)
    assert all(found & set(numbers) for found in held.values() if found)
    assert len(numbers) == len(set(numbers)) <= sum(bool(found) for found in held.values())


def test_what_holds_evidence_comes_before_what_is_like_the_question():
    like = ActivatedSegment(number=3, strength=0.9, why=(ArmRank(arm="vector", rank=1, score=0.9),))
    both = ActivatedSegment(number=5, strength=0.2, why=(ArmRank(arm="keyword", rank=2, score=0.2),))
    held = put_holders_first([5, 7], [like, both])
    assert [(one.number, one.strength) for one in held] == [(5, 1.0), (7, 1.0), (3, 0.9)]
    assert [[why.arm for why in one.why] for one in held] == [["evidence", "keyword"], ["evidence"], ["vector"]]
