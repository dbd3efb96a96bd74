"""The tracker: what a reply may be, and what actions do to the state."""

import pytest
from memr3_bank import found, gap, piece, reflect, retrieve, settle

from recollect.methods.memr3.state import LoopState, apply_reflection, apply_retrieval, build_query_text, drop_seen
from recollect.methods.memr3.trace import Finding, Gap, LoopDecision, Snippet, TrackerState
from recollect.methods.memr3.tracker import GenerationReply, apply_generation, require_known_snippets

START = LoopState(question="When did Ada paint?", mask=frozenset({"hidden"}))
YEAR, DAY = found("Ada painted in 2022.", 1), gap("the day", finer=True)


def snippets(*ids, after=0):
    return tuple(
        Snippet(number=number, evidence=piece(id_, id_), shown=f"[{number}] {id_}")
        for number, id_ in enumerate(ids, start=after + 1)
    )


@pytest.mark.parametrize(
    ("decision", "given", "problem"),
    [
        ("retrieve", {"draft": "x"}, "the query is empty"),
        ("retrieve", {"query": " \n"}, "the query is empty"),
        ("reflect", {"query": "x"}, "the reasoning is empty"),
        ("answer", {}, "the draft is empty"),
    ],
)
def test_a_decision_comes_with_its_content(decision, given, problem):
    with pytest.raises(ValueError, match=problem):
        GenerationReply(evidence=(), gaps=(), decision=decision, **given)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Finding(fact=" ", snippets=(1,)), "is empty"),
        (lambda: Finding(fact="Ada paints.", snippets=()), "rests on nothing"),
        (lambda: Gap(missing=""), "a gap is empty"),
        (lambda: settle("x", found("The  day.", 1), gaps=[gap("the day")]), "known or missing, not both"),
    ],
)
def test_evidence_and_gaps_say_something_and_not_the_same(make, problem):
    with pytest.raises(ValueError, match=problem):
        make()


@pytest.mark.parametrize(("number", "known"), [(3, "numbered 1 to 2"), (0, "numbered 1 to 2"), (-1, "numbered 1 to 2")])
def test_what_was_never_retrieved_is_no_ground(number, known):
    state = apply_retrieval(START, "", snippets("a", "b"))
    require_known_snippets(settle("x", found("f", 2, 1)), state)
    with pytest.raises(ValueError, match=known):
        require_known_snippets(settle("x", found("e", 1), found("f", 1, number)), state)


def test_before_anything_was_found_nothing_is_a_ground():
    with pytest.raises(ValueError, match="none was found so far"):
        require_known_snippets(settle("x", found("f", 1)), START)


def test_a_retrieval_takes_the_place_of_the_last_one_and_is_masked():
    first = apply_retrieval(START, "", snippets("a", "b"))
    second = apply_retrieval(first, "red paint", snippets("c", after=2))
    assert [one.id for one in second.snippets] == ["c"]
    assert [one.id for one in second.all_snippets] == ["a", "b", "c"]
    assert second.mask == {"hidden", "a", "b", "c"}
    assert (first.queries, second.queries) == ((), ("red paint",))
    assert (first.iteration, second.iteration) == (1, 2)
    require_known_snippets(settle("x", found("f", 1, 3)), second)


def test_snippets_and_reasoning_stay_over_reflections_and_a_retrieval_ends_the_streak():
    state = apply_retrieval(START, "", snippets("a"))
    once = apply_reflection(state, "One step.")
    twice = apply_reflection(once, "")
    assert (once.streak, twice.streak, twice.iteration) == (1, 2, 3)
    assert (twice.snippets, twice.reasoning, twice.last_decision) == (state.snippets, "One step.", LoopDecision.REFLECT)
    again = apply_retrieval(twice, "more", ())
    assert (again.streak, again.reasoning, again.snippets) == (0, "", ())


def test_only_what_was_just_retrieved_counts_as_nothing_found():
    assert apply_retrieval(START, "", ()).has_found_nothing
    assert not apply_retrieval(START, "", snippets("a")).has_found_nothing
    assert not apply_reflection(apply_retrieval(START, "", ()), "Hm.").has_found_nothing


def test_the_question_is_joined_to_the_refinement():
    assert build_query_text(START, "") == "When did Ada paint?"
    assert build_query_text(START, "sunrise") == "When did Ada paint? sunrise"


def test_a_rule_may_look_for_what_is_missing():
    assert reflect("Hm.", gaps=[gap("the day"), gap("the place")]).refinement == "the day; the place"
    assert retrieve(" sunrise ", gaps=[gap("the day")]).refinement == "sunrise"


def test_what_is_masked_is_dropped_and_so_is_what_comes_twice():
    state = apply_retrieval(START, "", snippets("a"))
    given = [piece(id_, id_) for id_ in ("b", "a", "hidden", "c", "b")]
    assert [one.id for one in drop_seen(state, given)] == ["b", "c"]


@pytest.mark.parametrize(
    ("evidence", "gaps", "alone"),
    [
        ((YEAR,), (DAY,), True),
        ((YEAR,), (DAY, gap("the place")), False),
        ((YEAR,), (), False),
        ((), (DAY,), False),
    ],
)
def test_when_precision_alone_is_missing(evidence, gaps, alone):
    assert TrackerState(evidence=evidence, gaps=gaps).lacks_only_precision is alone


def test_precision_counts_as_sought_after_a_retrieval_until_something_else_is_missing():
    state = apply_generation(apply_retrieval(START, "", snippets("a")), retrieve("day", YEAR, gaps=[DAY]))
    assert not state.sought_finer
    sought = apply_retrieval(state, "day", snippets("b", after=1))
    assert apply_generation(sought, retrieve("day", YEAR, gaps=[DAY])).sought_finer
    assert apply_generation(apply_reflection(sought, "Hm."), retrieve("day", YEAR, gaps=[DAY])).sought_finer
    assert not apply_generation(sought, retrieve("place", YEAR, gaps=[DAY, gap("the place")])).sought_finer
    assert not apply_generation(sought, settle("2022", YEAR)).sought_finer


def test_the_model_says_what_is_known():
    state = apply_generation(apply_retrieval(START, "", snippets("a")), retrieve("day", YEAR, gaps=[DAY]))
    after = apply_generation(state, settle(" 2022 ", found("It was 2022.", 1)))
    assert (after.known, after.draft) == (TrackerState(evidence=(found("It was 2022.", 1),)), "2022")
    assert after.cited_numbers == (1,)
