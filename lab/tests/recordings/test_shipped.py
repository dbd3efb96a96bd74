"""The shipped recordings fit what is asked for today, and what comes of them holds together."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from recollect.domain.items import ItemKind
from recollect.domain.opinions import Assessment
from recollect.methods.hindsight.reinforcer import ReinforceSettings, update_confidence
from recollect_lab.rehearsals import comparison
from recollect_lab.rehearsals.comparison import ReplayedRehearsal, compare_recipe
from recollect_lab.rehearsals.plans import PLANS, TWELVE_QUESTIONS, WHERE_AND_WHEN, get_plan


@pytest.fixture(scope="module")
def replayed() -> Callable[[str], ReplayedRehearsal]:
    """What the rehearsal of a name gives; each is replayed once."""
    return cache(lambda name: asyncio.run(comparison.replay_rehearsal(name, lambda line: None)))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PLANS)
def test_every_request_has_a_reply_of_its_own(replayed, name):
    replay = replayed(name)
    assert replay.report.is_fresh
    assert not replay.report.unused
    assert not replay.result.problems


@pytest.mark.parametrize("name", PLANS)
def test_answers_are_those_that_were_judged(replayed, name):
    replay = replayed(name)
    assert replay.verdicts.keys() == {one.question.id for one in replay.result.asked}
    assert all(one.answer.abstained for one in replay.result.asked if one.should_abstain)


@pytest.mark.parametrize("name", PLANS)
def test_whatever_was_made_comes_from_messages_and_what_is_cited_was_shown(replayed, name):
    result = replayed(name).result
    assert bool(result.made) == bool(get_plan(name).recipe.consolidate)
    assert all(item.sources for item in result.made)
    for one in result.asked:
        shown = {piece.id for piece in one.answer.evidence}
        assert {citation.id for citation in one.answer.citations} <= shown


def test_hindsight_reads_facts_and_sums_them_up(replayed):
    result = replayed("hindsight").result
    assert len(result.items_of(ItemKind.FACT)) > 50
    assert all(item.derived_from and item.confidence is None for item in result.items_of(ItemKind.OBSERVATION))
    assert all(one.answer.abstained == one.should_abstain for one in result.asked)


def test_opinions_move_only_as_equation_26_says(replayed):
    result = replayed("hindsight").result
    alpha = ReinforceSettings().alpha
    moved = 0
    for opinion in result.opinions:
        assert opinion.steps[0].assessment is Assessment.FORMED
        for before, after in zip(opinion.steps, opinion.steps[1:], strict=False):
            assert after.evidence
            if after.assessment is not Assessment.REVISED:
                moved += 1
                assert after.confidence == pytest.approx(update_confidence(before.confidence, after.assessment, alpha))
    assert moved > 5


def test_recmem_tells_episodes_of_what_recurs_and_of_what_was_pinned(replayed):
    result = replayed("recmem").result
    reasons = {item.label.split()[0] for item in result.items_of(ItemKind.EPISODE)}
    assert {"recurrence", "pinned"} <= reasons
    assert {item.label for item in result.items_of(ItemKind.SEMANTIC)} <= {"event", "preference", "update", "relation"}
    calls = Counter({cost.operation: cost.usage.calls for cost in result.costs})
    messages = 170
    assert calls.total() - calls["recmem.answer"] < messages / 4, "what does not recur costs nothing"


def test_emem_joins_the_time_of_one_session_with_the_place_of_another(replayed):
    """The case of appendix D; each assistant saw one segment, and none held both."""
    result = replayed("emem").result
    asked = next(one for one in result.asked if one.question is WHERE_AND_WHEN)
    assert "Porto" in asked.answer.text
    cited = {source: citation.id for citation in asked.answer.citations for source in citation.sources}
    assert set(WHERE_AND_WHEN.evidence) <= cited.keys()
    assert len({cited[source] for source in WHERE_AND_WHEN.evidence}) == 2


def test_emem_quotes_what_was_said_and_nothing_else(replayed):
    result = replayed("emem").result
    assert all(item.label == "model" for item in result.items_of(ItemKind.SUMMARY))
    for one in result.asked:
        texts = {piece.id: " ".join(piece.text.split()) for piece in one.answer.evidence}
        for citation in one.answer.citations:
            assert " ".join(citation.text.split()) in texts[citation.id]


@pytest.mark.parametrize("name", PLANS)
def test_all_are_compared_on_the_same_questions(replayed, name):
    line = compare_recipe(name, replayed(name))
    assert len(line.verdicts) == len(line.steps) == len(TWELVE_QUESTIONS)
    assert None not in line.verdicts
    assert line.fresh
    assert min(line.steps) > 0
    assert line.asked.calls >= len(TWELVE_QUESTIONS)
    assert bool(line.built.calls) == bool(get_plan(name).recipe.consolidate)


def test_memr3_goes_on_only_where_something_is_missing(replayed):
    asked = {one.question.id: one.answer for one in replayed("memr3").result.asked}
    assert len(asked["q65"].trace) > len(asked["q06"].trace), (
        "what nobody said is looked for again before it is said so"
    )
