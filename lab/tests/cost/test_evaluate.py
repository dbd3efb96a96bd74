"""Costs on conversations so small that every call can be counted by hand."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from recollect.domain.messages import Message
from recollect.domain.usage import Usage
from recollect.errors import InvalidInput
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.recmem.settings import CASUAL, RECURRENCE, ConsolidateSettings, Recurrence
from recollect.recipes import Recipe
from recollect.testing.models import HashEmbedder
from recollect_lab.cost.evaluate import evaluate_cost
from recollect_lab.cost.systems import DEFAULT_SYSTEMS, Construction, EagerSystem, RecipeSystem, build_system
from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetSession
from recollect_lab.reports.provenance import gather_provenance

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
EMBEDDER = HashEmbedder(256)
AGAIN = "The old oven died again while the bread was rising."


@dataclass(frozen=True, kw_only=True)
class Settings:
    systems: str = "by hand"


def conversation(*sessions, name="c", pinned=()):
    """Sessions of so many texts, a day apart; ``pinned`` are places of messages, from 0."""
    made, at = [], 0
    for day, texts in enumerate(sessions):
        start = AT + timedelta(days=day)
        said = tuple(
            Message(id=f"m{at + n}", speaker="Ada", text=text, at=start, important=at + n in pinned)
            for n, text in enumerate(texts)
        )
        made.append(DatasetSession(id=f"s{day}", at=start, messages=said))
        at += len(texts)
    return DatasetConversation(id=name, sessions=tuple(made), questions=())


def dataset(*conversations):
    return Dataset(name="tiny", conversations=conversations, place="message", checksum="ab12")


def waiting(name="recmem@3", **more):
    recurrence = Recurrence(**{"theta_sim": 0.9, "theta_count": 3, "theta_merge": 1.0, **more})
    part = partial(UnitConsolidator, settings=ConsolidateSettings(recurrence=recurrence))
    return RecipeSystem(name, Recipe(name="recmem", consolidate=(part,)), recurrence)


async def report_of(data, *systems, limit=None):
    provenance = gather_provenance(data, settings=Settings(), at=AT)
    return await evaluate_cost(data, systems, EMBEDDER, provenance=provenance, limit=limit)


def calls(report, name):
    return {operation: spent.calls for operation, spent in report.systems[name].by.items()}


async def test_what_recurs_is_told_and_refined_and_what_does_not_costs_nothing():
    """The fourth of six equal messages has three before it: one episode of four. The sixth has five before it, of which
    only the fifth is in no episode yet: one episode of two. The fifth would be alone in one."""
    report = await report_of(dataset(conversation(["Toby sleeps.", *[AGAIN] * 3], [AGAIN] * 3)), waiting())
    (one,) = report.systems.values()
    assert calls(report, "recmem@3") == {"recmem.episodes": 2, "recmem.refine": 2}
    assert (one.recurrence.units, one.recurrence.recurred) == (7, round(3 / 7, 4))
    assert (one.recurrence.merges_asked, one.recurrence.merged) == (0, 0)
    assert one.recurrence.episodes == {"recurrence": 2}
    assert one.spent.calls == 4
    assert one.problems == {}
    quiet = await report_of(dataset(conversation(["Toby sleeps.", AGAIN, "Bram bakes."])), waiting())
    assert quiet.systems["recmem@3"].spent.tokens == 0


async def test_what_belongs_to_an_episode_is_merged_first():
    """Four equal messages make an episode; each of the two after them is nearest to it, and shares all its words."""
    report = await report_of(dataset(conversation([AGAIN] * 4, [AGAIN] * 2)), waiting(theta_merge=0.5))
    assert calls(report, "recmem@3") == {"recmem.episodes": 1, "recmem.merge": 2, "recmem.refine": 1}
    recurrence = report.systems["recmem@3"].recurrence
    assert (recurrence.merges_asked, recurrence.merged, recurrence.episodes) == (2, 2, {"recurrence": 1})


async def test_what_is_pinned_is_told_of_alone():
    talk = conversation(["Toby sleeps.", "Bram bakes rye bread.", "The moon rose."], pinned=[1])
    report = await report_of(dataset(talk), waiting())
    assert calls(report, "recmem@3") == {"recmem.episodes": 1, "recmem.refine": 1}
    assert report.systems["recmem@3"].recurrence.episodes == {"pinned": 1}
    assert report.systems["recmem@3"].recurrence.facts == 1


async def test_figures_are_means_over_conversations_and_shares_of_eager_extraction():
    loud, still = conversation([AGAIN] * 4, name="loud"), conversation(["Toby sleeps."], [], ["Hm."] * 3, name="still")
    report = await report_of(dataset(loud, still), waiting(), EagerSystem())
    eager, recmem = report.systems["eager"], report.systems["recmem@3"]
    # Two pairs in the one; a message alone, a pair and a message alone in the other.
    assert [one.calls for one in eager.conversations.values()] == [2, 3]
    assert (eager.spent.calls, recmem.spent.calls, eager.of_eager) == (2.5, 1, 1.0)
    assert list(recmem.conversations) == ["loud", "still"]
    assert recmem.conversations["still"].tokens == 0
    assert recmem.spent.tokens_in == recmem.conversations["loud"].tokens_in / 2
    assert recmem.tokens.mean == recmem.spent.tokens
    assert recmem.of_eager == pytest.approx(recmem.spent.tokens / eager.spent.tokens)
    assert report.talk["messages"] == 4
    alone = await report_of(dataset(loud), waiting())
    assert alone.systems["recmem@3"].of_eager is None
    first = await report_of(dataset(loud, still), EagerSystem(), limit=1)
    assert (first.conversations, first.systems["eager"].spent.calls) == (1, 2)


async def test_similarities_are_within_conversations():
    """Of five equal messages the fourth and the fifth have three before them; of three others none has."""
    talks = conversation([AGAIN] * 5), conversation(["Toby sleeps.", "Bram bakes.", "Hm."], name="d")
    report = await report_of(dataset(*talks), EagerSystem())
    assert report.similarities[3] == pytest.approx(dict.fromkeys(report.similarities[3], 1.0), abs=1e-3)
    assert len(report.similarities[3]) == 7
    assert report.similarities[6] == {}


async def test_the_json_is_by_system():
    report = await report_of(dataset(conversation([AGAIN] * 5)), waiting(), EagerSystem())
    made = json.loads(json.dumps(report.to_json()))
    assert set(made) == {"systems", "similarities", "conversations", "talk", "provenance"}
    assert set(made["similarities"]) == {"3", "4", "5", "6"}
    recmem = made["systems"]["recmem@3"]
    assert {"calls", "tokens_in", "tokens_out", "tokens", "of_eager", "operations", "conversations"} < set(recmem)
    assert set(recmem["operations"]["recmem.episodes"]) == {"calls", "tokens_in", "tokens_out"}
    assert recmem["recurrence"]["theta_count"] == 3
    assert made["systems"]["eager"]["recurrence"] is None
    assert made["provenance"]["settings"] == {"systems": "by hand"}


async def test_the_table_tells_the_same():
    report = await report_of(dataset(conversation([AGAIN] * 5)), waiting(), EagerSystem())
    table = report.to_table()
    for words in ("recmem@3", "recmem.refine", "1 recurrence", "of eager", "n-th nearest", "tiny, sha256 ab12"):
        assert words.replace("1 rec", "1.0 rec") in table
    assert "cosine" not in (await report_of(dataset(conversation(["Hm."])), EagerSystem())).to_table()


async def test_what_goes_wrong_is_told_by_conversation():
    @dataclass(frozen=True)
    class Broken:
        name: str = "broken"
        recurrence: Recurrence | None = None

        async def construct(self, conversation, embedder):
            return Construction(operations={"x": Usage(calls=1)}, problems=("job x failed",))

    report = await report_of(dataset(conversation(["Hm."])), Broken())
    assert report.systems["broken"].problems == {"c": ("job x failed",)}
    assert report.systems["broken"].of_eager is None
    assert "problems   1" in report.to_table()


async def test_there_must_be_something_to_measure():
    with pytest.raises(InvalidInput, match="nothing to measure: 0 conversations"):
        await report_of(dataset(), EagerSystem())
    with pytest.raises(InvalidInput, match="nothing to measure: 1 conversations, 0 systems"):
        await report_of(dataset(conversation(["Hm."])))
    with pytest.raises(InvalidInput, match="limit"):
        await report_of(dataset(conversation(["Hm."])), EagerSystem(), limit=0)


async def test_hindsight_reads_and_observes_after_every_session():
    talk = conversation(*([f"Ada met Toby in Leeds on walk {day}-{n}." for n in range(3)] for day in range(4)))
    report = await report_of(dataset(talk), build_system("hindsight", EMBEDDER))
    made = calls(report, "hindsight")
    assert made["hindsight.extract"] == 4
    assert made["hindsight.observe"] > 0
    assert report.systems["hindsight"].problems == {}


async def test_remem_reads_each_session_for_gists_and_for_facts():
    talk = conversation(*([f"Ada met Toby in Leeds on walk {day}-{n}." for n in range(3)] for day in range(4)))
    report = await report_of(dataset(talk), build_system("remem", EMBEDDER))
    made = calls(report, "remem")
    assert (made["remem.gists"], made["remem.facts"]) == (4, 4)
    assert report.systems["remem"].problems == {}


# Names


def test_a_recipe_waits_as_it_does_in_a_new_bank():
    @dataclass(frozen=True)
    class Known:
        name: str = "wordllama-256"
        dimension: int = 256

    assert build_system("recmem", Known()).recurrence == RECURRENCE["wordllama-256"]
    assert build_system("recmem", EMBEDDER).recurrence == CASUAL
    assert build_system("eager", EMBEDDER) == EagerSystem()
    assert build_system("hindsight", EMBEDDER).recurrence is None
    assert {build_system(name, EMBEDDER).name for name in DEFAULT_SYSTEMS} == set(DEFAULT_SYSTEMS)


def test_a_count_and_a_threshold_take_the_place_of_the_recipes():
    system = build_system("recmem@4", EMBEDDER, theta_sim=0.5)
    assert (system.recurrence.theta_count, system.recurrence.theta_sim, system.recurrence.k) == (4, 0.5, CASUAL.k)
    (part,) = system.recipe.consolidate
    assert part.keywords["settings"].recurrence == system.recurrence
    assert build_system("recmem", EMBEDDER, theta_sim=0.5).recurrence.theta_count == CASUAL.theta_count


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("stew", "no recipe 'stew'"),
        ("hindsight@5", "does not wait for recurrence"),
        ("eager@2", "no recipe 'eager'"),
        ("recmem@few", "the part after @"),
        ("recmem@", "the part after @"),
        ("recmem@0", "theta_count"),
    ],
)
def test_a_name_that_is_none_is_refused(name, problem):
    with pytest.raises(InvalidInput, match=problem):
        build_system(name, EMBEDDER)


async def test_conversations_without_a_message_cost_nothing():
    report = await report_of(dataset(conversation([])), waiting(), EagerSystem())
    one = report.systems["recmem@3"]
    assert (one.spent.calls, one.recurrence.units, one.recurrence.recurred, one.of_eager) == (0, 0, 0, None)
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["systems"]["eager"]["calls"] == 0
    assert report.to_table().startswith("a conversation")
