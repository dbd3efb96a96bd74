"""The arms, each alone and all at once: what they bring, and what they say when they cannot."""

import asyncio

import numpy as np
import pytest
from recall_fakes import FakeReader, FakeSearch, numbers, recall, reports

from recollect.domain.links import LinkKind
from recollect.domain.queries import Effort, SearchProbe
from recollect.domain.recalls import ArmStatus
from recollect.domain.signals import Weights
from recollect.errors import RecallFailed
from recollect.recall.arms import ARMS, ArmIdle, ArmInput, run_arms, run_graph, run_temporal
from recollect.recall.settings import Arm, RecallSettings, SearchBudget, SpreadSettings

FOUND = ((1, 0.9), (2, 0.8))
EVERYTHING = {"semantic": FOUND, "lexical": ((3, 0.5),), "temporal": ((4, 0.7),)}
HALF = SpreadSettings(decay=0.5, floor=0.01, multipliers=dict.fromkeys(LinkKind, 1.0))
R = LinkKind.RELATION


def field(search, *, reach=SearchBudget(candidates=50, entries=2, steps=2), during=True, **settings):  # noqa: B008
    vector, words = np.array([1.0], dtype=np.float32), np.array([1], dtype=np.uint32)
    probe = SearchProbe(topic="x", vector=vector, terms=words, during=object() if during else None)
    return ArmInput(search=search, probe=probe, budget=reach, settings=RecallSettings(spread=HALF, **settings))


def pairs(hits):
    return [(ref, pytest.approx(score, abs=1e-6)) for ref, score in zip(hits.refs.tolist(), hits.scores, strict=True)]


async def test_every_arm_is_named_in_the_receipt():
    recalled = await recall(FakeSearch(**EVERYTHING))
    assert list(reports(recalled)) == [arm.value for arm in Arm]
    assert {report.status for report in recalled.receipt.arms} == {ArmStatus.OK}
    assert {arm: report.candidates for arm, report in reports(recalled).items()} == {
        "semantic": 2,
        "lexical": 1,
        "graph": 2,
        "temporal": 1,
    }
    assert recalled.receipt.complete
    assert set(numbers(recalled)) == {1, 2, 3, 4}


async def test_arms_with_nothing_to_do_are_idle_and_say_why():
    search = FakeSearch(**EVERYTHING)
    idle = reports(await recall(search, "?!"))
    assert {report.status for report in idle.values()} == {ArmStatus.IDLE}
    assert all("words" in idle[arm].note for arm in ("semantic", "lexical", "graph"))
    assert "time" in idle["temporal"].note
    assert search.calls == [("signals", [], [])]
    recalled = await recall(FakeSearch(**EVERYTHING), "red bicycle")
    assert {arm for arm, report in reports(recalled).items() if report.status is ArmStatus.IDLE} == {"temporal"}
    assert recalled.receipt.complete


@pytest.mark.parametrize("broken", ["lexical", "temporal"])
async def test_an_arm_that_raises_is_told_and_the_others_go_on(broken):
    search = FakeSearch(**EVERYTHING)

    async def fail(k):
        raise OSError("the disk is gone")

    setattr(search, broken, fail)
    recalled = await recall(search)
    report = reports(recalled)[broken]
    assert (report.status, report.candidates) == (ArmStatus.FAILED, 0)
    assert report.note == "OSError: the disk is gone"
    assert not recalled.receipt.complete
    assert {1, 2} <= set(numbers(recalled))
    assert sum(other.status is ArmStatus.OK for other in recalled.receipt.arms) == 3


async def test_an_arm_past_its_deadline_is_told_and_the_recall_returns():
    search, stopped = FakeSearch(**EVERYTHING), []

    async def hang(k):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(k)

    search.lexical = hang
    async with asyncio.timeout(20):
        recalled = await recall(search, settings=RecallSettings(deadline_s=0.02))
    assert reports(recalled)["lexical"].status is ArmStatus.TIMEOUT
    assert "0.02" in reports(recalled)["lexical"].note
    assert stopped
    assert not recalled.receipt.complete
    assert {1, 2, 4} == set(numbers(recalled))


async def test_an_arm_that_broke_does_not_weigh():
    """Its signals are left out of the scores and of the most there could be."""
    columns = {"meaning": {1: 1.0}, "surroundings": {1: 1.0}, "exchange": {1: 1.0}}
    settings = RecallSettings(arms=(Arm.SEMANTIC, Arm.LEXICAL))
    search = FakeSearch(semantic=((1, 0.9),), **columns)

    async def fail(k):
        raise OSError

    search.lexical = fail
    broken = await recall(search, settings=settings)
    alone = await recall(FakeSearch(semantic=((1, 0.9),), **columns), settings=RecallSettings(arms=(Arm.SEMANTIC,)))
    assert broken.evidence[0].score == pytest.approx(alone.evidence[0].score)


async def test_where_all_arms_fail_an_empty_answer_would_be_a_lie():
    search = FakeSearch()

    async def fail(k):
        raise OSError("down")

    search.semantic = search.lexical = search.temporal = fail
    with pytest.raises(RecallFailed, match=r"semantic: OSError: down.*lexical.*graph.*temporal"):
        await recall(search)
    with pytest.raises(RecallFailed):  # the temporal arm is idle, the others fail
        await recall(search, "red bicycle")


async def test_some_arms_failing_and_nothing_found_is_not_silent():
    search = FakeSearch()

    async def fail(k):
        raise OSError("down")

    search.lexical = fail
    recalled = await recall(search)
    assert recalled.evidence == ()
    assert not recalled.receipt.complete
    assert "down" in reports(recalled)["lexical"].note


async def test_arms_run_at_once():
    """Each waits for all the others to have begun: one after the other they would wait for ever."""
    search, begun = FakeSearch(**EVERYTHING), []
    all_began = asyncio.Event()

    def waiting(arm):
        async def wait(k):
            begun.append(arm)
            if len(begun) == 3:  # the graph begins with what the semantic arm finds
                all_began.set()
            await all_began.wait()
            return search._hits(arm, k)

        return wait

    for arm in ("semantic", "lexical", "temporal"):
        setattr(search, arm, waiting(arm))
    async with asyncio.timeout(20):
        recalled = await recall(search)
    assert sorted(begun) == ["lexical", "semantic", "temporal"], "the graph begins with what the semantic arm found"
    assert recalled.receipt.complete


async def test_a_recall_that_is_cancelled_takes_its_arms_with_it():
    search, running, all_run = FakeSearch(), set(), asyncio.Event()

    def hanging(arm):
        async def hang(k):
            running.add(arm)
            if len(running) == 3:
                all_run.set()
            await asyncio.Event().wait()

        return hang

    for arm in ("semantic", "lexical", "temporal"):
        setattr(search, arm, hanging(arm))
    before = asyncio.all_tasks()
    task = asyncio.create_task(recall(search))
    await all_run.wait()
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - before
    for other in left:
        other.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    assert not left


async def test_a_timeout_of_the_stores_own_is_not_the_deadline():
    search = FakeSearch(semantic=FOUND)

    async def fail(k):
        raise TimeoutError("the connection timed out")

    search.lexical = fail
    assert "connection" in reports(await recall(search))["lexical"].note


@pytest.mark.parametrize("arms", [(Arm.LEXICAL,), (Arm.TEMPORAL, Arm.GRAPH), (Arm.SEMANTIC, Arm.LEXICAL)])
async def test_only_the_chosen_arms_run(arms):
    reader = FakeReader(FakeSearch(**EVERYTHING))
    recalled = await recall(None, settings=RecallSettings(arms=arms), reader=reader)
    assert tuple(reports(recalled)) == tuple(arm.value for arm in arms)
    ((_, _, weights),) = reader.opened
    assert weights == Weights()  # what is nearest in meaning does not depend on which arms run


async def test_effort_buys_candidates_entries_and_steps():
    asked = {}
    for effort in Effort:
        search = FakeSearch(**EVERYTHING, edges=[(n, n + 1, 1.0, R) for n in range(1, 9)])
        await recall(search, effort=effort, settings=RecallSettings(spread=HALF))
        reach = RecallSettings().budgets[effort]
        assert ("lexical", reach.candidates) in search.calls
        assert [call for call in search.calls if call[0] == "semantic"] == [("semantic", reach.candidates)]
        alone = FakeSearch(**EVERYTHING)
        await recall(alone, effort=effort, settings=RecallSettings(arms=(Arm.GRAPH,)))
        assert ("semantic", reach.entries) in alone.calls
        walks = [call for call in search.calls if call[0] == "edges" and call[1][0] != 4]
        asked[effort] = (reach.candidates, len(walks))
    assert [asked[effort][0] for effort in Effort] == sorted(asked[effort][0] for effort in Effort)
    assert len({candidates for candidates, _ in asked.values()}) == 3
    assert asked[Effort.LOW][1] < asked[Effort.HIGH][1]


async def test_the_graph_arm_walks_from_the_nearest_in_meaning():
    search = FakeSearch(
        semantic=((1, 0.8), (2, 0.6), (3, 0.5)),
        edges=[(1, 10, 1.0, R), (2, 10, 1.0, R), (2, 11, 0.5, R), (10, 12, 1.0, R), (3, 13, 1.0, R)],
    )
    hits = await run_graph(field(search))
    assert pairs(hits) == [(1, 0.8), (2, 0.6), (10, 0.4), (12, 0.2), (11, 0.15)]
    assert ("edges", [1, 2], 8) in search.calls


async def test_a_negative_cosine_activates_nothing():
    hits = await run_graph(field(FakeSearch(semantic=((1, 0.5), (2, -0.4)), edges=[(2, 9, 1.0, R)])))
    assert pairs(hits) == [(1, 0.5), (2, 0.0)]


async def test_a_walk_ends_where_nothing_new_is_reached():
    search = FakeSearch(semantic=((1, 0.8),), edges=[(1, 2, 1.0, R), (2, 1, 1.0, R)])
    hits = await run_graph(field(search, reach=SearchBudget(candidates=9, entries=1, steps=50)))
    assert pairs(hits) == [(1, 0.8), (2, 0.4)]
    assert len([call for call in search.calls if call[0] == "edges"]) == 2


async def test_the_temporal_walk_keeps_to_what_falls_into_the_time():
    search = FakeSearch(
        temporal=((1, 0.8),),
        edges=[(1, 2, 1.0, R), (1, 3, 0.5, R), (3, 4, 1.0, R), (2, 5, 1.0, R)],
        inside={1, 2, 4, 5},
    )
    # 4 lies in the time, but the only way to it leads through 3, which does not.
    assert pairs(await run_temporal(field(search))) == [(1, 0.8), (2, 0.4), (5, 0.2)]
    search.inside = {1}
    assert pairs(await run_temporal(field(search))) == [(1, 0.8)]


async def test_the_temporal_walk_does_not_bring_its_own_hits_twice():
    search = FakeSearch(temporal=((1, 0.8), (2, 0.1)), edges=[(1, 2, 1.0, R)], inside={1, 2})
    assert pairs(await run_temporal(field(search))) == [(1, 0.8), (2, 0.1)]


async def test_what_the_temporal_walk_brings_finds_room_among_the_candidates():
    search = FakeSearch(temporal=((1, 0.8), (5, 0.7), (6, 0.6)), edges=[(1, 2, 1.0, R)], inside={2})
    hits = await run_temporal(field(search, reach=SearchBudget(candidates=3, entries=1, steps=1)))
    assert hits.refs.tolist() == [1, 5, 2]


async def test_a_small_reach_holds_for_the_temporal_walk_too():
    edges = [(1, n, 1.0, R) for n in range(2, 12)]
    search = FakeSearch(temporal=((1, 0.8),), edges=edges, inside=range(20))
    hits = await run_temporal(field(search, reach=SearchBudget(candidates=4, entries=1, steps=1)))
    assert len(hits.refs) <= 4


async def test_no_time_is_nothing_to_do():
    with pytest.raises(ArmIdle, match="time"):
        await run_temporal(field(FakeSearch(), during=False))


async def test_every_arm_there_is_can_be_run():
    assert set(ARMS) == set(Arm)
    found = await run_arms(field(FakeSearch(**EVERYTHING)))
    assert list(found) == list(Arm)
