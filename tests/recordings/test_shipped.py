"""The shipped recording fits what is asked for today, and what comes of it holds together."""

import asyncio
import json
from pathlib import Path

import pytest

from recollect.domain.items import ItemKind
from recollect.domain.opinions import Assessment
from recollect.evals.plans import plan_named
from recollect.evals.rehearsal import RehearsalResult, rehearse
from recollect.methods.hindsight.reinforce import ReinforceSettings, reinforced
from recollect.recordings import Recording, ReplayReport, ReplayServer, recording_path

GRADED = Path(__file__).resolve().parents[2] / "benchmarks" / "graded" / "hindsight.json"


@pytest.fixture(scope="module")
def replayed() -> tuple[RehearsalResult, ReplayReport]:
    with recording_path("hindsight") as folder, ReplayServer(Recording.open(folder)) as server:
        return asyncio.run(rehearse(plan_named("hindsight"), server.base_url, lambda line: None)), server.report


@pytest.mark.timeout(300)
def test_every_request_has_a_reply_of_its_own(replayed):
    result, report = replayed
    assert report.fresh
    assert not report.unused
    assert not result.problems


def test_answers_are_those_that_were_judged(replayed):
    result, _ = replayed
    graded = json.loads(GRADED.read_text("utf-8"))
    assert {one.question.id: one.answer.text for one in result.asked} == {
        name: one["answer"] for name, one in graded.items()
    }
    assert all(one.answer.abstained == one.abstention_due for one in result.asked)


def test_what_is_known_comes_from_messages_and_what_is_cited_was_shown(replayed):
    result, _ = replayed
    assert len(result.of(ItemKind.FACT)) > 50
    assert all(fact.sources for fact in result.of(ItemKind.FACT))
    assert all(item.derived_from and item.confidence is None for item in result.of(ItemKind.OBSERVATION))
    for one in result.asked:
        shown = {piece.id for piece in one.answer.evidence}
        assert {citation.id for citation in one.answer.citations} <= shown
        assert all(citation.kind is not ItemKind.OPINION or citation.text for citation in one.answer.citations)


def test_opinions_move_only_as_equation_26_says(replayed):
    result, _ = replayed
    alpha = ReinforceSettings().alpha
    moved = 0
    for opinion in result.opinions:
        assert opinion.steps[0].assessment is Assessment.FORMED
        for before, after in zip(opinion.steps, opinion.steps[1:], strict=False):
            assert after.evidence
            if after.assessment is not Assessment.REVISED:
                moved += 1
                assert after.confidence == pytest.approx(reinforced(before.confidence, after.assessment, alpha))
    assert moved > 5
