"""A memory of the embedder ``none``: words, links and time alone; what needs vectors says that it did not run."""

import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from standin_model import standin

from recollect import Memory, Message
from recollect._tokenizer import is_wordllama_installed
from recollect.app import backends
from recollect.domain.facts import Fact
from recollect.domain.items import ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.queries import NO_VECTORS
from recollect.domain.recalls import ArmStatus
from recollect.domain.signals import Weights
from recollect.errors import EmbedderMismatch, InvalidInput, ModelUnavailable
from recollect.methods.recmem import calibration
from recollect.methods.remem.tools import BY_WORDS
from recollect.models.embedders import wordllama
from recollect.recall.settings import Arm, RecallSettings
from recollect.recipes import RECIPES, Recipe
from recollect.testing.models import HashEmbedder

AT = datetime(2023, 5, 8, 14, tzinfo=UTC)
SAID = [
    ("Ada", "I adopted a puppy called Toby from the shelter on 2 May 2023."),
    ("Ben", "How lovely! What does Toby like to do?"),
    ("Ada", "Toby loves to swim in the lake behind our house."),
    ("Ben", "I booked a flight to Lisbon for September."),
    ("Ada", "Remember that I am allergic to peanuts."),
    ("Ben", "The Lisbon hotel has a pool, so I will swim as well."),
]
MESSAGES = [
    Message(id=f"m{n}", speaker=speaker, text=text, at=AT + timedelta(hours=n), important=n == 4)
    for n, (speaker, text) in enumerate(SAID)
]


def stored_vectors(folder, bank="bank"):
    """The lengths of the vectors that a bank's file holds, in bytes."""
    with closing(sqlite3.connect(folder / f"{bank}.bank")) as connection:
        return {length for (length,) in connection.execute("SELECT length(vector) FROM indexing")}


async def filled(memory, name="bank"):
    bank = await memory.bank(name)
    await bank.retain(MESSAGES, session="s1", wait=True)
    return bank


def arm(receipt, name):
    (report,) = [one for one in receipt.arms if one.arm == name]
    return report


@pytest.mark.parametrize("recipe", RECIPES)
async def test_every_recipe_finds_by_words_and_says_that_meaning_took_no_part(tmp_path, recipe):
    async with Memory.open(tmp_path, embedder="none", recipe=recipe, model="none") as memory:
        bank = await filled(memory)
        found = await bank.recall("Where does Toby swim?")
        assert any("m2" in one.sources for one in found.evidence)
        report = arm(found.receipt, "vector" if recipe == "emem" else "semantic")
        assert (report.status, report.note) == (ArmStatus.IDLE, NO_VECTORS)
        assert found.receipt.complete
        info = await bank.info()
        assert (info.embedder, info.dimension, info.notes) == ("none", 0, (NO_VECTORS,))
        assert LinkKind.SEMANTIC.value not in info.links_by_kind
        if not recipe.startswith("remem"):  # these answer from what a model makes of the messages
            assert (await bank.ask("Where does Toby swim?")).evidence
    assert stored_vectors(tmp_path) == {0}


@pytest.mark.parametrize("recipe", ["default", "tempr", "hindsight", "memr3"])
async def test_recipes_work_with_a_model(tmp_path, recipe):
    async with Memory.open(tmp_path, embedder="none", recipe=recipe, model=standin()) as memory:
        bank = await filled(memory)
        answer = await bank.ask("Where does Toby swim?")
        assert answer.evidence
        assert not await bank.jobs("dead")
    assert stored_vectors(tmp_path) == {0}


async def test_links_and_time_find_without_vectors(tmp_path):
    async with Memory.open(tmp_path, embedder="none") as memory:
        bank = await filled(memory)
        linked = arm((found := await bank.recall("Who is Toby?")).receipt, "graph")
        assert linked.status is ArmStatus.OK
        assert linked.candidates > 2
        assert any(why.arm == "graph" for one in found.evidence for why in one.why)
        timely = arm((await bank.recall("What happened on 2 May 2023?")).receipt, "temporal")
        assert (timely.status, timely.candidates > 0) == (ArmStatus.OK, True)
        nothing = (await bank.recall("???")).receipt
        assert {one.status for one in nothing.arms} == {ArmStatus.IDLE}


async def test_scores_are_shares_of_what_words_and_time_can_say():
    arms = (Arm.SEMANTIC, Arm.LEXICAL, Arm.TEMPORAL)
    wordy = RecallSettings(arms=arms, weights=Weights(meaning=0, surroundings=0))
    scores = []
    for embedder, recall in (("none", RecallSettings(arms=arms)), (HashEmbedder(), wordy)):
        recipe = Recipe(name="own", recall=recall)
        async with Memory.open(":memory:", embedder=embedder, recipe=recipe, model="none") as memory:
            found = await (await filled(memory)).recall("Where does Toby swim?")
            scores.append({one.id: round(one.score, 5) for one in found.evidence if one.score > 0.05})
    assert scores[0] == scores[1] != {}


async def test_vectors_come_and_go_by_rebuilding(tmp_path):
    embedder = HashEmbedder(32)
    async with Memory.open(tmp_path, embedder="none") as memory:
        await filled(memory)
    async with Memory.open(tmp_path, embedder=embedder) as memory:
        with pytest.raises(EmbedderMismatch, match=r"holds no vectors.*hash-32"):
            await memory.bank("bank")
        bank = await memory.rebuild("bank")
        assert (await bank.info()).notes == ()
        found = await bank.recall("Where does Toby swim?")
        assert arm(found.receipt, "semantic").status is ArmStatus.OK
        assert stored_vectors(tmp_path) == {64}
        await bank.retain(Message(id="m9", text="Toby loves to swim in the lake behind our house!"), session="s2")
        assert LinkKind.SEMANTIC.value in (await bank.info()).links_by_kind
    async with Memory.open(tmp_path, embedder="none") as memory:
        with pytest.raises(EmbedderMismatch, match=r"hash-32.*none"):
            await memory.bank("bank")
        bank = await memory.rebuild("bank")
        found = await bank.recall("Where does Toby swim?")
        assert arm(found.receipt, "semantic").note == NO_VECTORS
        assert any("m2" in one.sources for one in found.evidence)
    assert stored_vectors(tmp_path) == {0}


@pytest.mark.parametrize(("first", "then", "length"), [("none", "none", 0), ("none", None, 512), (None, "none", 0)])
async def test_export_and_import_with_and_without_vectors(tmp_path, first, then, length):
    async with Memory.open(tmp_path, embedder=first) as memory:
        lines = [line async for line in (await filled(memory)).export()]
    async with Memory.open(tmp_path, embedder=then) as memory:
        copy = await memory.bank("copy")
        await copy.import_(lines)
        found = await copy.recall("Where does Toby swim?")
        assert any("m2" in one.sources for one in found.evidence)
    assert stored_vectors(tmp_path, "copy") == {length}


async def test_forgetting_works_without_vectors(tmp_path):
    async with Memory.open(tmp_path, embedder="none") as memory:
        bank = await filled(memory)
        assert (await bank.forget(messages="m0")).verified
        assert not any("m0" in one.sources for one in (await bank.recall("puppy shelter Toby")).evidence)


async def test_recmem_says_that_nothing_recurs(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(calibration, "_warned_embedders", set())
    async with Memory.open(tmp_path, embedder="none", recipe="recmem", model="none") as memory:
        bank = await filled(memory)
        with pytest.raises(InvalidInput, match=r"cannot be calibrated.*no vectors"):
            await bank.calibrate()
        recurrence = await calibration.choose_recurrence(bank._store, calibration.ConsolidateSettings())
        assert recurrence == calibration.CASUAL
    (warning,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "nothing is recognised as recurring" in warning


async def test_remems_tool_looks_by_words_and_says_so(tmp_path):
    async with Memory.open(tmp_path, embedder="none", recipe="remem", model="none") as memory:
        bank = await memory.bank("bank")
        await bank.add_facts(Fact(subject="E92", predicate="was the R17 of", object="E69"))
        (triple,) = await bank.items(ItemKind.TRIPLE)
        tools = bank.tools()
        found = await tools.semantic_retrieve("R17")
        assert [one.item.id for one in found.facts] == [triple.id]
        assert found.text.startswith(BY_WORDS)
        assert BY_WORDS not in (await tools.lexical_retrieve("R17")).text


@pytest.fixture
def without_wordllama(monkeypatch):
    monkeypatch.setattr("recollect._tokenizer.PACKAGE", "no_such_package")
    backends._warn_of_no_embedder.cache_clear()
    wordllama._read_table.cache_clear()
    assert not is_wordllama_installed()


async def test_where_wordllama_is_missing_memory_works_and_says_so_once(tmp_path, without_wordllama, caplog):
    for _ in range(2):
        async with Memory.open(tmp_path) as memory:
            found = await (await filled(memory)).recall("Where does Toby swim?", max_tokens=40)
            assert 0 < found.receipt.tokens <= 40
            assert arm(found.receipt, "semantic").note == NO_VECTORS
    assert len([one for one in caplog.records if "wordllama is not installed" in one.message]) == 1


async def test_where_wordllama_is_missing_and_chosen_nothing_is_stored(tmp_path, without_wordllama):
    async with Memory.open(tmp_path, embedder="wordllama") as memory:
        bank = await memory.bank("bank")
        with pytest.raises(ModelUnavailable, match="wordllama"):
            await bank.retain(MESSAGES, session="s1")
        assert (await bank.info()).messages == 0


async def test_none_that_was_chosen_gives_no_warning(tmp_path, without_wordllama, caplog):
    async with Memory.open(tmp_path, embedder="none") as memory:
        await filled(memory)
    assert not caplog.records
