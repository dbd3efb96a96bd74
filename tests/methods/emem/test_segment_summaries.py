"""Summaries by a model in place of extracts (section 3.2, algorithm 1)."""

from dataclasses import replace

import pytest
from segment_bank import EMBEDDER, NOW, SUMMARY, opened, query

from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job
from recollect.errors import ModelUnavailable
from recollect.methods.emem.prompts import SummaryReply, build_assist_prompt
from recollect.methods.emem.segment_view import read_segment_views
from recollect.methods.emem.summarizer import Summarizer, render_summary
from recollect.models.language import ModelRole
from recollect.retain.embed import embed_items
from recollect.retain.extractive_summary import OPENING
from recollect.store.commit_retry import derive_changes
from recollect.store.protocol import ForgetSelection
from recollect.testing.models import FunctionModel, ScriptedModel
from recollect.text.fencing import DATA_RULE

TALK = (
    "My kite is stuck in the old oak tree behind the school.",
    "Then ask the gardener, he has a very long ladder there.",
    "We baked walnut bread this morning and burned the crust.",
    "Next time put the bread on the lower rack of the oven.",
)
WRITTEN = replace(
    SUMMARY,
    speakers=("Ada", " the\ngardener "),
    key_items=(),
    events=("Ada's kite is stuck.", "", "A ladder\nis near."),
)


def jobs_of(bank, changes):
    return Summarizer(bank.parts()).plan_jobs(changes, NOW)


async def summed_up(bank, model, job):
    """The changes that come of a job."""
    derive = await Summarizer(bank.parts(model)).consolidate(job, bank.store, NOW)
    return await derive_changes(bank.store, derive)


async def test_a_job_for_each_segment_that_is_sealed():
    async with opened() as bank:
        none = await bank.say(TALK[0])
        some = await bank.say(*TALK[1:])
        first, *_ = jobs_of(bank, some)
    assert jobs_of(bank, none) == ()
    assert first == Job(id="emem.summarise:0", kind="emem.summarise", payload="0", messages=("m0", "m1"))
    assert [job.payload for job in jobs_of(bank, some)] == ["0", "1"]


async def test_a_summary_takes_the_extracts_place_and_is_found_by_its_words():
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        (extract,) = await bank.store.items(["summary:0"])
        model = ScriptedModel([replace(WRITTEN, events=("A zeppelin landed on the meadow.",))])
        await bank.store.commit(await summed_up(bank, model, job))
        (item,) = await bank.store.items(["summary:0"])
        found = await bank.parts().retriever.route(query("Where did the zeppelin land?"), bank.store)
        (vector,) = await embed_items([item], bank.store, EMBEDDER)
        near = await bank.store.nearest(vector[None], 1, 0.99)
    assert extract.text.startswith(OPENING)
    assert (extract.label, item.label) == ("extractive", "model")
    assert item == replace(extract, label="model", text=item.text, tokens=item.tokens)
    assert item.text == "Speakers: Ada, the gardener\nPeriod: May 2024\nA zeppelin landed on the meadow."
    assert item.tokens > 0
    assert {why.arm for why in found.activated[0].why} >= {"summary"}
    assert found.activated[0].number == 0
    assert near[0][0][0] == "summary:0"


def test_a_summary_as_text():
    assert (
        render_summary(WRITTEN)
        == "Speakers: Ada, the gardener\nPeriod: May 2024\nAda's kite is stuck.\nA ladder is near."
    )
    assert render_summary(SUMMARY) == "Speakers: Ada\nPeriod: May 2024\nKey items: a kite\nAda flew a kite."


def test_a_summary_has_to_tell_something():
    with pytest.raises(ValueError, match="no event is told"):
        SummaryReply(speakers=("Ada",), period="", key_items=(), events=(" ",))


async def test_the_prompt_begins_as_an_assistants_does():
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        model = ScriptedModel([WRITTEN])
        await summed_up(bank, model, job)
        (reading,) = await read_segment_views(bank.store, [0], query("").scope)
    (prompt,) = model.prompts
    assist = build_assist_prompt(reading, query("Where is the kite?"))
    assert (prompt.role, prompt.operation, prompt.subject) == (ModelRole.ASSIST, "emem.summarise", "segment:0")
    assert (prompt.system, prompt.prefix) == (assist.system, assist.prefix)
    assert prompt.prefix.startswith(f"<segment>\n[Wed 2024-05-01 09:30] Ada: {TALK[0]}\n")
    assert prompt.prefix.endswith("\n</segment>\n\n")
    assert prompt.text == 'Your task: "sum up".'
    assert DATA_RULE in prompt.system


async def test_one_that_is_summed_up_already_costs_no_call():
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        await bank.store.commit(await summed_up(bank, ScriptedModel([WRITTEN]), job))
        assert (await summed_up(bank, ScriptedModel([]), job)).is_empty


@pytest.mark.parametrize("payload", ["9", "0"])
async def test_one_of_which_nothing_is_left_costs_no_call(payload):
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        await bank.store.forget(ForgetSelection(sessions=("s1",)))
        assert (await summed_up(bank, ScriptedModel([]), replace(job, payload=payload))).is_empty


async def test_a_failing_model_is_the_workers_to_handle():
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        with pytest.raises(ModelUnavailable):
            await summed_up(bank, ScriptedModel([ModelUnavailable("down")]), job)
        (item,) = await bank.store.items(["summary:0"])
    assert item.label == "extractive"


async def test_nothing_is_kept_of_what_was_forgotten_meanwhile():
    """The segment lost a message while the model read it: what the model wrote is thrown away, and it reads again."""
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        consolidator = Summarizer(bank.parts(FunctionModel(lambda prompt, kind: WRITTEN)))
        derive = await consolidator.consolidate(job, bank.store, NOW)
        torn = await bank.store.plan_forget(ForgetSelection(messages=("m0",)))
        remade = await bank._encoder.encode_remaining(torn, reader=bank.store)
        await bank.store.forget(ForgetSelection(messages=("m0",)), remade)
        changes = await derive_changes(bank.store, derive)
    assert changes.items == ()
    assert [(one.id, one.messages) for one in changes.jobs] == [("emem.summarise:0", ("m1",))]
    assert [one.messages for one in Summarizer(bank.parts()).plan_jobs(remade, NOW)] == [("m1",)]


async def test_deriving_anew_calls_no_model():
    async with opened() as bank:
        job, *_ = jobs_of(bank, await bank.say(*TALK))
        model = ScriptedModel([WRITTEN])
        derive = await Summarizer(bank.parts(model)).consolidate(job, bank.store, NOW)
        first = await derive_changes(bank.store, derive)
        await bank.say("Another word.")
        second = await derive_changes(bank.store, derive)
    assert first.expected_version is not None
    assert second.expected_version is not None
    assert first.expected_version < second.expected_version
    assert [entry.item for entry in first.items] == [entry.item for entry in second.items]
    assert {entry.item.kind for entry in first.items} == {ItemKind.SUMMARY}
