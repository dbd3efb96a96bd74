"""Statements kept as triples with their turns, in one commit and without a model."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.messages import Role
from recollect.domain.queries import Scope
from recollect.domain.time import Precision
from recollect.domain.triples import Aggregation, TriplePattern
from recollect.recipes import Recipe, turn_encoder
from recollect.retain.encode import EncodeSettings
from recollect.retain.triples import stated_in, triples_of
from recollect.testing.models import HashEmbedder
from recollect.text.when.iso import read_date

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
NOW = AT + timedelta(days=1)
RECIPE = Recipe(name="stated", encode=partial(turn_encoder, settings=EncodeSettings(statements=True)))
OFFICE = "E92 was the R17 of E69 from 1980 to 1984."
LATER = "E93 was the R17 of E69 since 1985.\nMarie Curie worked at Sorbonne from 1906 to 1934."
SMALL_TALK = "I went to Leeds in 2010, as you know."


def opened(folder=":memory:", recipe=RECIPE):
    return Memory.open(folder, embedder=HashEmbedder(), recipe=recipe, clock=lambda: NOW)


def said(id_, text, *, speaker="Ada", **more):
    return Message(id=id_, text=text, speaker=speaker, at=AT, **more)


@pytest.fixture
async def bank():
    async with opened() as memory:
        yield await memory.bank("bank")


async def triples(bank):
    return sorted(await bank.items(ItemKind.TRIPLE), key=lambda item: (item.session, item.order))


async def test_a_message_of_statements_is_kept_as_triples_too(bank):
    receipt = await bank.retain([said("m1", OFFICE), said("m2", SMALL_TALK), said("m3", LATER)], session="s")
    assert (receipt.items, receipt.jobs) == (3 + 3, 0)
    first, second, third = await triples(bank)
    assert (first.id, second.id, third.id) == ("stated:0:m1", "stated:0:m3", "stated:1:m3")
    assert (first.text, first.session, first.speaker, first.sources) == ("E92 was the R17 of E69", "s", "Ada", ("m1",))
    assert (first.mentioned, first.recorded) == (AT, NOW)
    assert first.order < second.order < third.order
    assert first.tokens > 0
    assert (first.triple.start, first.triple.end) == (read_date("1980", UTC), read_date("1984", UTC))
    (whole,) = first.occurrences
    assert (whole.interval.start.year, whole.interval.end.year) == (1980, 1985)
    assert (whole.words, whole.interval.precision) == ("1980–1984", Precision.RANGE)
    (since,) = second.occurrences
    assert (since.words, since.interval.end, second.triple.end) == ("since 1985", None, None)
    assert third.triple.subject == "Marie Curie"
    assert len(await bank.items(ItemKind.TURN)) == 3
    assert await bank._store.count_triples(TriplePattern(objects=("e69",)), Scope(), Aggregation.COUNT) == 2


async def test_they_are_found_by_what_they_say_and_when_it_held(bank):
    await bank.retain([said("m1", OFFICE), said("m2", LATER)], session="s")
    found = await bank.recall("Who worked at the Sorbonne?", kinds=["triple"], limit=1)
    assert [one.text for one in found.evidence] == ["Marie Curie worked at Sorbonne"]
    found = await bank.recall("What about 1982?", kinds=["triple"], during=read_date("1982", UTC))
    assert [one.text for one in found.evidence] == ["E92 was the R17 of E69"]


async def test_without_being_asked_for_there_are_none():
    async with opened(recipe=replace(RECIPE, encode=partial(turn_encoder, settings=EncodeSettings()))) as memory:
        bank = await memory.bank("bank")
        assert (await bank.retain(said("m1", OFFICE), session="s")).items == 1
        assert await triples(bank) == []


async def test_what_was_kept_without_them_is_caught_up_with(tmp_path):
    async with opened(
        tmp_path, recipe=replace(RECIPE, encode=partial(turn_encoder, settings=EncodeSettings()))
    ) as memory:
        bank = await memory.bank("bank")
        await bank.retain([said("m1", OFFICE), said("m2", SMALL_TALK)], session="s")
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        assert await bank.reread() == 0, "nothing is left to be read by a model: there is none here"
        (item,) = await triples(bank)
        assert (item.id, item.recorded) == ("stated:0:m1", NOW)
        await bank.reread()
        assert await triples(bank) == [item]


async def test_a_message_with_pictures_says_more_than_its_words(bank):
    await bank.retain(said("m1", OFFICE, captions=("a map",)), session="s")
    assert await triples(bank) == []


async def test_names_are_mentioned_and_phrases_are_not(bank):
    await bank.retain([said("m1", LATER), said("m2", "fence fixing | began on | the hill | 2020 |")], session="s")
    first, second, third = await triples(bank)
    mentions = await bank._store.mentions_of([first.id, second.id, third.id])
    assert {(one.item, one.surface) for one in mentions} == {
        ("stated:0:m1", "E93"),
        ("stated:0:m1", "E69"),
        ("stated:1:m1", "Marie Curie"),
        ("stated:1:m1", "Sorbonne"),
    }


async def test_turns_are_linked_to_each_other_and_not_to_triples_of_the_same_write(bank):
    await bank.retain([said(f"m{n}", OFFICE) for n in range(3)], session="s")
    items = {item.id for item in await triples(bank)}
    assert len(items) == 3
    parts = [part async for part in bank._store.dump()]
    links = [link for part in parts for link in part.links]
    assert links
    assert all(link.source not in items and link.target not in items for link in links)
    assert {link.kind for link in links} <= {LinkKind.TEMPORAL, LinkKind.SEMANTIC, LinkKind.ENTITY}


async def test_forgetting_the_answer_leaves_the_triple_of_what_was_answered(bank):
    await bank.retain(
        [said("m1", OFFICE, speaker="user"), said("m2", "Noted.", speaker="bot", role=Role.ASSISTANT)], session="s"
    )
    (before,) = await triples(bank)
    receipt = await bank.forget(messages="m2")
    assert receipt.verified
    assert await triples(bank) == [before]
    (turn,) = await bank.items(ItemKind.TURN)
    assert turn.text == OFFICE


async def test_a_triple_goes_with_its_message_and_no_other(bank):
    await bank.retain([said("m1", OFFICE), said("m2", LATER), said("m3", "E1 was the R1 of E2 in 1999.")], session="s")
    receipt = await bank.forget(messages="m2")
    assert (receipt.verified, receipt.jobs) == (True, 0)
    assert [item.id for item in await triples(bank)] == ["stated:0:m1", "stated:0:m3"]
    assert (await bank.forget(entity="E69")).messages == ("m1",)
    assert [item.id for item in await triples(bank)] == ["stated:0:m3"]
    assert await bank._store.count_triples(TriplePattern(), Scope(), Aggregation.COUNT) == 1


async def test_being_given_again_changes_nothing(bank):
    await bank.retain(said("m1", OFFICE), session="s")
    before = await triples(bank)
    assert (await bank.retain(said("m1", OFFICE), session="s")).items == 0
    assert await triples(bank) == before


async def test_what_is_stated_tells_which_messages_need_no_model(bank):
    await bank.retain([said("m1", OFFICE), said("m2", SMALL_TALK)], session="s")
    assert (
        stated_in(triples_of(await bank.messages())) == {"m1"} == stated_in(await bank._store.items_of(list(ItemKind)))
    )


async def test_a_bank_with_triples_is_exported_and_embedded_anew(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        await bank.retain([said("m1", OFFICE), said("m2", LATER)], session="s")
        before, vectors = await triples(bank), await bank._store.vectors(["stated:0:m1"])
        await bank.rebuild()
        after = await bank._store.vectors(["stated:0:m1"])
        assert (vectors["stated:0:m1"] == after["stated:0:m1"]).all()
        lines = [line async for line in bank.export()]
        other = await memory.bank("other")
        await other.import_(lines)
        assert await triples(other) == before
