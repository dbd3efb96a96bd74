"""Segments of a bank: forgetting, moving, adopting, and two who write at once."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job
from recollect.domain.segments import Stream
from recollect.errors import ModelUnavailable
from recollect.methods.emem.router import Router
from recollect.methods.hindsight.reflector import FormedOpinion, ReflectReply
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.recipes import Recipe
from recollect.retain.encode import EncodeSettings
from recollect.retain.extractive_summary import EXTRACTIVE, OPENING, extract_summary
from recollect.retain.segments import SegmentSettings, read_segment, render_line
from recollect.testing.models import HashEmbedder, ScriptedModel
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, tzinfo=UTC)
SECRET = "xylophone quagmire Zanzibar"


class Summarising:
    """Stands in for a model that writes summaries: a job for every extract."""

    kind = "test.summarise"

    def plan_jobs(self, changes, now):
        return tuple(
            Job(id=entry.item.id, kind=self.kind, payload=entry.item.id, messages=entry.item.sources)
            for entry in changes.items
            if entry.item.label == EXTRACTIVE
        )

    async def consolidate(self, job, reader, now):
        raise NotImplementedError


def windows(length, overlap=0, consolidate=()):
    return Recipe(
        name="windows",
        encode=partial(
            make_turn_encoder, settings=EncodeSettings(segments=SegmentSettings(length=length, overlap=overlap))
        ),
        consolidate=consolidate,
    )


def opened(folder, recipe, **more):
    embedder = more.pop("embedder", None) or HashEmbedder()
    return Memory.open(folder, embedder=embedder, recipe=recipe, clock=lambda: AT, **more)


def said(*numbers, words="I walked Toby along the river in Leeds, and met Cleo"):
    return [
        Message(id=f"m{n}", text=f"{words}, number {n}.", speaker="Ben", at=AT + timedelta(hours=n)) for n in numbers
    ]


async def segment_texts(bank):
    segments = await bank._store.segments()
    return {segment.number: (await read_segment(bank._store, segment.number)).text for segment in segments}


async def summaries(bank):
    return {item.id: item for item in await bank.items("summary")}


async def test_a_bank_counts_its_segments(tmp_path):
    async with opened(tmp_path, windows(120, 30)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(12)))
        segments = await bank._store.segments()
        assert (await bank.info()).segments == len(segments) > 2
        assert [segment.is_sealed for segment in segments] == [True] * (len(segments) - 1) + [False]
        assert sorted(await summaries(bank)) == [f"summary:{s.number}" for s in segments if s.is_sealed]


async def test_extracts_are_found_and_say_that_they_are_extracts(tmp_path):
    async with opened(tmp_path, windows(120)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(12)))
        found = await bank.recall("walking Toby along the river", kinds=["summary"])
        assert found.evidence
        assert all(evidence.text.startswith(OPENING) for evidence in found.evidence)


async def test_forgetting_takes_the_words_out_of_segments_and_makes_their_extracts_anew(tmp_path, assert_sound):
    async with opened(tmp_path, windows(160, 80)) as memory:
        bank = await memory.bank("b")
        await bank.retain([*said(*range(4)), *said(4, words=f"{SECRET} and {SECRET}"), *said(*range(5, 12))])
        before, old = await segment_texts(bank), await summaries(bank)
        torn = {number for number, text in before.items() if "Zanzibar" in text}
        assert len(torn) >= 2
        assert any("Zanzibar" in item.text for item in old.values())
        receipt = await bank.forget(messages="m4")
        assert (receipt.messages, receipt.verified) == (("m4",), True)
        after, new = await segment_texts(bank), await summaries(bank)
        assert not any("Zanzibar" in text for text in (*after.values(), *(item.text for item in new.values())))
        assert {number for number in before if after[number] != before[number]} == torn
        assert set(new) == set(old)
        for number in torn:
            held = await read_segment(bank._store, number)
            assert new[f"summary:{number}"].sources == tuple(message.id for message in held.messages)
            assert new[f"summary:{number}"].label == EXTRACTIVE
        assert await bank.jobs() == []
    assert_sound(tmp_path / "b.bank", gaps=True)


async def test_an_extract_made_anew_is_the_one_that_what_is_left_would_have_had(tmp_path):
    async with opened(tmp_path, windows(160, 80)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(12)))
        await bank.forget(messages=["m0", "m4"])
        made = await summaries(bank)
        for segment in await bank._store.segments():
            if segment.is_sealed:
                left = (await bank._store.segment_messages([segment.number]))[segment.number]
                assert made[f"summary:{segment.number}"] == extract_summary(segment, left, frozenset())


async def test_forgetting_a_whole_segment_takes_its_summary(tmp_path):
    async with opened(tmp_path, windows(150)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(12)))
        first, *rest = await bank._store.segments()
        gone = [message.id for message in (await bank._store.segment_messages([first.number]))[first.number]]
        await bank.forget(messages=gone)
        assert first.number not in [segment.number for segment in await bank._store.segments()]
        assert "summary:0" not in await summaries(bank)
        assert (await bank.info()).segments == len(rest)


async def test_extracts_made_anew_are_read_by_a_model_again(tmp_path):
    recipe = windows(150, consolidate=(lambda _: Summarising(),))
    async with opened(tmp_path, recipe) as memory:
        bank = await memory.bank("b")
        receipt = await bank.retain(said(*range(12)))
        sealed = [segment for segment in await bank._store.segments() if segment.is_sealed]
        assert receipt.jobs == len(sealed)
        for job in await bank.jobs():
            await bank.drop_job(job.id)
        await bank.forget(messages="m0")
        ((job),) = await bank.jobs()
        assert (job.id, job.messages) == ("summary:0", (await summaries(bank))["summary:0"].sources)


async def test_an_embedder_that_is_away_keeps_what_was_to_be_forgotten(tmp_path):
    class Away(HashEmbedder):
        away = False

        async def embed(self, texts, *, purpose="document"):
            if self.away:
                raise ModelUnavailable("away")
            return await super().embed(texts)

    embedder = Away()
    async with opened(tmp_path, windows(150), embedder=embedder) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(12)))
        before = await segment_texts(bank)
        embedder.away = True
        with pytest.raises(ModelUnavailable):
            await bank.forget(messages="m0")
        assert await segment_texts(bank) == before


async def test_segments_move_with_the_bank(tmp_path):
    async with opened(tmp_path, windows(100, 40)) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await bank.retain(said(*range(9)))
        await bank.forget(messages=["m0", "m8"])
        lines = [line async for line in bank.export()]
        info = await copy.import_(lines)
        assert [line async for line in copy.export()][1:] == lines[1:]
        assert info.segments == (await bank.info()).segments
        assert await segment_texts(copy) == await segment_texts(bank)
        assert sum(json.loads(line)["type"] == "stream" for line in lines) == 1
        for one in (bank, copy):
            await one.retain(said(*range(9, 14)))
        assert await segment_texts(copy) == await segment_texts(bank)
        assert await summaries(copy) == await summaries(bank)
        assert await copy._store.stream() == await bank._store.stream()


async def test_a_bank_of_another_recipe_is_put_into_segments_by_rereading(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="tempr") as memory:
        await (await memory.bank("b")).retain(said(*range(12)))
    async with opened(tmp_path, windows(150, consolidate=(lambda _: Summarising(),))) as memory:
        bank = await memory.bank("b")
        assert (await bank.info()).segments == 0
        count = await bank.backfill()
        sealed = [segment for segment in await bank._store.segments() if segment.is_sealed]
        covered = {source for item in (await summaries(bank)).values() for source in item.sources}
        assert count == len(covered) > 0
        assert sorted(job.id for job in await bank.jobs()) == sorted(f"summary:{s.number}" for s in sealed)
        version = (await bank._store.look_up([], [])).version
        assert await bank.backfill() == 0
        assert (await bank._store.look_up([], [])).version == version


async def test_rereading_without_segments_is_as_before(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="tempr") as memory:
        bank = await memory.bank("b")
        await bank.retain(said(1))
        assert await bank.backfill() == 0
        assert await bank._store.stream() is None


async def test_two_who_write_at_once_make_one_stream(tmp_path):
    async with opened(tmp_path, windows(90, 30)) as one, opened(tmp_path, windows(90, 30)) as other:
        banks = [await one.bank("b"), await other.bank("b")]
        await asyncio.gather(*(banks[n % 2].retain(said(n), session=f"s{n % 2}") for n in range(16)))
        segments, messages = await banks[0]._store.segments(), await banks[0].messages()
        texts, streamed = await segment_texts(banks[0]), await banks[1]._store.stream()
        assert isinstance(streamed, Stream)
    async with opened(tmp_path, windows(90, 30)) as memory:
        batch = await memory.bank("batch")
        for message in messages:
            again = Message(id=message.id, text=message.text, speaker=message.speaker, at=message.at)
            await batch.retain(again, session=message.session)
        assert await batch._store.segments() == segments
        assert await segment_texts(batch) == texts
        assert await batch._store.stream() == streamed


async def test_segments_need_no_model_and_call_none(tmp_path):
    model = ScriptedModel([])
    async with opened(tmp_path, windows(100), model=model, worker=WorkerSettings()) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(8)), wait=True)
        assert model.prompts == []
        assert await summaries(bank)


async def test_the_words_of_a_message_are_kept_in_its_messages_alone(tmp_path):
    """Segments are places in the log: their table holds no text."""
    async with opened(tmp_path, windows(100)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(8)))
        with bank._store._database.read_transaction() as connection:
            rows = [*connection.execute("SELECT * FROM segment"), *connection.execute("SELECT * FROM stream")]
        assert rows
        assert all(cell is None or isinstance(cell, int) for row in rows for cell in row)
        assert "".join((await segment_texts(bank)).values()).count(render_line((await bank.messages())[0])) <= 1


async def test_an_opinion_rests_on_single_items_where_segments_are_recalled(tmp_path):
    belief = FormedOpinion(
        statement="I think Ben likes the river.",
        reasoning="He walks along it.",
        confidence=0.7,
        entities=("Ben",),
        rests_on=(1,),
    )
    model = ScriptedModel([ReflectReply(answer="Yes.", abstained=False, citations=(1,), opinions=(belief,))])
    async with opened(tmp_path, replace(windows(100, 20), retrieve=Router), model=model) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(12)))
        recalled = await bank.recall("Does Ben like the river?")
        answer = await bank.reflect("Does Ben like the river?")
        (opinion,) = await bank.opinions()
        there = {item.id for item in await bank.items("turn", "summary")}
    assert {evidence.kind for evidence in recalled.evidence} == {ItemKind.SEGMENT}
    assert answer.text == "Yes."
    assert {citation.id for citation in answer.citations} <= there
    assert answer.opinions == (opinion.id,)


def bare(length):
    """A recipe that keeps where windows begin and end, and nothing else of them."""
    settings = EncodeSettings(segments=SegmentSettings(length=length, overlap=0, summaries=False))
    return Recipe(name="bare", encode=partial(make_turn_encoder, settings=settings))


async def test_windows_without_summaries_are_places_alone(tmp_path):
    async with opened(tmp_path, windows(90)) as summed, opened(tmp_path, bare(90)) as plain:
        one, other = await summed.bank("summed"), await plain.bank("plain")
        for bank in (one, other):
            await bank.retain(said(*range(9)))
        assert len(await summaries(one)) > 1
        assert await summaries(other) == {}
        assert await segment_texts(other) == await segment_texts(one)
        await other.forget(messages=["m0", "m4"])
        assert await summaries(other) == {}
        assert not any("number 4." in text for text in (await segment_texts(other)).values())
        assert await other.backfill() == 0
        assert await summaries(other) == {}


async def test_forgetting_without_summaries_makes_anew_those_that_are_there(tmp_path):
    async with opened(tmp_path, windows(90)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(9)))
        before = await summaries(bank)
    async with opened(tmp_path, bare(90)) as memory:
        bank = await memory.bank("b")
        await bank.retain(said(*range(9, 14)))
        await bank.forget(messages="m1")
        after = await summaries(bank)
        assert after.keys() == before.keys()
        assert {source for item in after.values() for source in item.sources}.isdisjoint({"m1", "m9"})


async def test_rereading_sums_up_windows_that_were_made_without_summaries(tmp_path):
    async with opened(tmp_path, windows(90)) as memory:
        wanted = await memory.bank("wanted")
        await wanted.retain(said(*range(9)))
        expected = await summaries(wanted)
    async with opened(tmp_path, bare(90)) as memory:
        await (await memory.bank("b")).retain(said(*range(9)))
    async with opened(tmp_path, windows(90, consolidate=(lambda _: Summarising(),))) as memory:
        bank = await memory.bank("b")
        count = await bank.backfill()
        made = await summaries(bank)
        assert {id_: item.text for id_, item in made.items()} == {id_: item.text for id_, item in expected.items()}
        assert count == len({source for item in made.values() for source in item.sources}) > 0
        assert sorted(job.id for job in await bank.jobs()) == sorted(made)
        version = (await bank._store.look_up([], [])).version
        assert await bank.backfill() == 0
        assert (await bank._store.look_up([], [])).version == version
