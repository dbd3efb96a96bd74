"""Facts that are given: found like those that are read, given again without harm, and forgotten."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect import Fact, Interval, Memory, Message, Precision, sync
from recollect.domain.facts import make_given_id
from recollect.domain.items import ItemKind
from recollect.errors import InvalidInput, NaiveDatetime
from recollect.retain.facts import split_bounds
from recollect.testing.models import HashEmbedder
from recollect.text.time_expressions.iso import parse_iso_date

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
NOW = AT + timedelta(days=1)


def years(first, last):
    """From a year to another, both included; open where one is left out."""
    start = None if first is None else datetime(first, 1, 1, tzinfo=UTC)
    end = None if last is None else datetime(last + 1, 1, 1, tzinfo=UTC)
    return Interval(start=start, end=end, precision=Precision.YEAR)


OFFICE = Fact(id="f1", subject="E92", predicate="was the R17 of", object="E69", occurred=years(1980, 1984))
LATER = Fact(id="f2", subject="E93", predicate="was the R17 of", object="E69", occurred=years(1985, None))
AT_SORBONNE = Fact(id="f3", subject="Marie Curie", predicate="worked at", object="Sorbonne", occurred=years(1906, 1934))
CURIE = replace(AT_SORBONNE, sources=("m1",))


def opened(folder=":memory:", **how):
    return Memory.open(folder, embedder=HashEmbedder(), clock=lambda: NOW, **{"recipe": "tempr", **how})


def said(id_="m1", text="Let me tell you of Marie Curie.", **more):
    return Message(id=id_, text=text, speaker="Ada", at=AT, **more)


@pytest.fixture
async def bank():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(), session="s")
        yield bank


async def facts_of(bank):
    return {item.id: item for item in await bank.items(ItemKind.TRIPLE)}


async def test_facts_are_stored_as_items_with_their_times(bank):
    receipt = await bank.add_facts([OFFICE, LATER, CURIE])
    assert (receipt.facts, receipt.skipped) == (("given:f1", "given:f2", "given:f3"), 0)
    kept = await facts_of(bank)
    office, later, curie = (kept[id_] for id_ in receipt.facts)
    assert (office.text, office.sources, office.session, office.mentioned) == ("E92 was the R17 of E69", (), "", NOW)
    assert (office.triple.start, office.triple.end) == (parse_iso_date("1980", UTC), parse_iso_date("1984", UTC))
    assert (later.triple.start, later.triple.end) == (parse_iso_date("1985", UTC), None)
    assert (curie.sources, curie.session, curie.speaker, curie.mentioned) == (("m1",), "s", "Ada", AT)
    assert curie.occurred.precision is Precision.RANGE
    assert {entity.name for entity in (await bank._store.entity_tables()).entities} >= {"E92", "E69", "Marie Curie"}


async def test_recall_and_the_tools_find_them(bank):
    await bank.add_facts([OFFICE, LATER, CURIE])
    found = await bank.recall("Who worked at the Sorbonne?", kinds=["triple"], limit=1)
    assert [(one.text, one.sources) for one in found.evidence] == [("Marie Curie worked at Sorbonne", ("m1",))]
    found = await bank.recall("Who held office?", kinds=["triple"], during=parse_iso_date("1982", UTC))
    assert "E92 was the R17 of E69" in [one.text for one in found.evidence]
    assert all(one.sources == () for one in found.evidence if one.id == "given:f1")
    held = await bank.tools().find_entity_contexts(object="E69", ordering="asc", limit=1)
    assert "E92" in held.text
    assert (await bank.tools().find_entity_contexts(object="E69", aggregation="count")).number == 2


async def test_a_text_and_a_time_of_saying_may_be_given(bank):
    told = replace(OFFICE, text="From 1980 on E92 held the office R17.", mentioned=AT - timedelta(days=900))
    await bank.add_facts(told)
    (item,) = (await facts_of(bank)).values()
    assert (item.text, item.mentioned) == (told.text, told.mentioned)
    found = await bank.recall("office", kinds=["triple"])
    assert found.evidence[0].text == told.text


async def test_giving_again_stores_nothing_twice(bank):
    first = await bank.add_facts([OFFICE, CURIE])
    again = await bank.add_facts([OFFICE, LATER, LATER, CURIE])
    assert (again.facts, again.skipped) == (("given:f1", "given:f2", "given:f2", "given:f3"), 3)
    assert first.facts[0] == again.facts[0]
    assert len(await facts_of(bank)) == 3
    unnamed = replace(OFFICE, id=None)
    ids = (*(await bank.add_facts(unnamed)).facts, *(await bank.add_facts(unnamed)).facts)
    assert len({*ids, "given:f1"}) == 3
    assert (await bank.add_facts([])).facts == ()


async def test_what_cannot_be_kept_is_refused_whole(bank):
    with pytest.raises(InvalidInput, match="'nowhere' of a fact is not a message"):
        await bank.add_facts([OFFICE, replace(CURIE, sources=("nowhere",))])
    assert await facts_of(bank) == {}
    await bank.add_facts(OFFICE)
    with pytest.raises(InvalidInput, match="'given:f1' exists already and says something else"):
        await bank.add_facts([LATER, replace(OFFICE, object="E70")])
    assert list(await facts_of(bank)) == ["given:f1"]
    for wrong in ({"subject": " "}, {"object": "a\0"}, {"predicate": "\ud800"}, {"id": ""}, {"sources": "m1"}):
        with pytest.raises(InvalidInput):
            replace(OFFICE, **wrong)
    with pytest.raises(NaiveDatetime):
        replace(OFFICE, mentioned=datetime(2024, 1, 1))  # noqa: DTZ001


async def test_a_fact_goes_with_any_of_its_sources(bank):
    await bank.retain(said("m2", "She taught there for years."), session="s")
    await bank.add_facts([OFFICE, replace(CURIE, sources=("m1", "m2"))])
    receipt = await bank.forget(messages="m2")
    assert (receipt.messages, receipt.verified, receipt.jobs) == (("m2",), True, 0)
    assert list(await facts_of(bank)) == ["given:f1"]


async def test_a_fact_is_forgotten_by_its_id(bank):
    await bank.add_facts([OFFICE, LATER, CURIE])
    receipt = await bank.forget(facts=["f1", "given:f3"])
    assert (receipt.messages, receipt.items, receipt.verified) == ((), 2, True)
    assert list(await facts_of(bank)) == ["given:f2"]
    assert len(await bank.messages()) == 1
    assert (await bank.forget(facts="nobody")).items == 0
    (turn,) = await bank.items(ItemKind.TURN)
    assert (await bank.forget(facts=turn.id)).items == 0, "only what was given is forgotten so"


async def test_a_fact_without_sources_is_forgotten_by_entity_and_by_time(bank):
    porto = Fact(id="f4", subject="my sister", predicate="lives in", object="Porto", text="She has moved to the sea.")
    cake = Fact(id="f5", subject="lemon cake", predicate="needs", object="butter", mentioned=AT - timedelta(days=900))
    await bank.add_facts([OFFICE, LATER, CURIE, porto, cake])
    receipt = await bank.forget(entity="E92")
    assert (receipt.messages, receipt.items, receipt.verified) == ((), 1, True)
    await bank.forget(entity="E9")
    assert len(await facts_of(bank)) == 4, "a part of a name is no name"
    assert (await bank.forget(entity="Porto")).items == 1, "its phrases count, whatever its text says"
    assert (await bank.forget(entity="lemon")).items == 1, "and so do words in them"
    assert list(await facts_of(bank)) == ["given:f2", "given:f3"]
    early = Interval(start=None, end=AT + timedelta(hours=2), precision=Precision.RANGE)
    assert (await bank.forget(during=early)).messages == ("m1",)
    assert list(await facts_of(bank)) == ["given:f2"], "it was mentioned a day later"
    late = Interval(start=AT + timedelta(hours=2), end=None, precision=Precision.RANGE)
    assert (await bank.forget(during=late)).items == 1
    info = await bank.info()
    assert (info.items, info.entities, info.messages) == (0, 0, 0)


async def test_forgetting_an_entity_takes_the_message_of_a_fact_that_names_it(bank):
    await bank.retain(said("m2", "I like rain."), session="s")
    await bank.add_facts(CURIE)
    assert (await bank.forget(entity="Sorbonne")).messages == ("m1",)
    assert await facts_of(bank) == {}


async def test_the_words_of_a_forgotten_fact_are_in_no_file(tmp_path, assert_sound):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        secret = Fact(id="s", subject="The safe", predicate="opens with", object="Quetzalcoatl-77", text="It opens so.")
        await bank.add_facts([secret, OFFICE])
        receipt = await bank.forget(facts="s")
        assert (receipt.verified, receipt.leftovers) == (True, ())
    files = list(tmp_path.rglob("*.bank*"))
    assert files
    assert all(b"Quetzalcoatl" not in file.read_bytes() for file in files)
    assert_sound(tmp_path / "bank.bank")


async def test_they_are_exported_imported_and_embedded_anew(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(), session="s")
        await bank.add_facts([OFFICE, LATER, CURIE])
        before, vectors = await facts_of(bank), await bank._store.vectors(["given:f1"])
        await bank.rebuild()
        assert (vectors["given:f1"] == (await bank._store.vectors(["given:f1"]))["given:f1"]).all()
        other = await memory.bank("other")
        await other.import_([line async for line in bank.export()])
        assert await facts_of(other) == before
        assert (await other.add_facts(OFFICE)).skipped == 1
        assert (await other.forget(entity="E69")).items == 2
        alone = await memory.bank("alone")
        await alone.add_facts(OFFICE)
        lines = [line async for line in alone.export()]
        copy = await memory.bank("copy")
        await copy.import_(lines)
        assert list(await facts_of(copy)) == ["given:f1"]
        with pytest.raises(InvalidInput, match="not empty"):
            await copy.import_(lines)


def test_without_await(tmp_path):
    with sync.Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = memory.bank("bank")
        assert bank.add_facts(OFFICE).facts == ("given:f1",)
        assert bank.forget(facts="f1").items == 1


ZONE = timezone(timedelta(hours=2))


def utc(*day):
    return datetime(*day, tzinfo=UTC)


def stretch(start, end, precision):
    return Interval(start=start, end=end, precision=precision)


@pytest.mark.parametrize(
    ("occurred", "start", "end"),
    [
        (None, None, None),
        (years(1980, 1980), "1980", "1980"),
        (years(1980, 1984), "1980", "1984"),
        (years(None, 1984), None, "1984"),
        (parse_iso_date("2024-02", UTC), "2024-02", "2024-02"),
        (stretch(utc(2024, 2, 3), utc(2024, 2, 6), Precision.DAY), "2024-02-03", "2024-02-05"),
        (stretch(utc(2024, 3, 9), None, Precision.MONTH), "2024-03", None),
    ],
)
def test_a_stretch_begins_in_its_first_unit_and_ends_in_its_last(occurred, start, end):
    read = tuple(None if text is None else parse_iso_date(text, UTC) for text in (start, end))
    assert split_bounds(occurred) == read


def test_other_precisions_are_points_and_ranges_are_known_to_the_moment():
    week = stretch(datetime(2024, 4, 29, tzinfo=ZONE), datetime(2024, 5, 6, tzinfo=ZONE), Precision.WEEK)
    assert split_bounds(week) == (week, week)
    start, end = split_bounds(replace(week, precision=Precision.RANGE))
    assert (start.start, start.precision, end.end) == (week.start, Precision.INSTANT, week.end)
    assert split_bounds(parse_iso_date("2024-05-01T10:00", ZONE))[0] == parse_iso_date("2024-05-01T10:00", ZONE)
    assert make_given_id("given:a") == make_given_id("a") == "given:a"
