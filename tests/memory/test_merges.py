"""A merge that was wrong is taken back, and stays taken back."""

from datetime import UTC, datetime

import pytest

from recollect import Memory, Message
from recollect.errors import InvalidInput
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder(), clock=lambda: AT)


async def merged(bank):
    """A bank that holds "Katharina Schneider" and her misspelling for one and the same; gives the merge."""
    await bank.retain(Message(id="m1", text="I met Katharina Schneider with Toby in Paris.", at=AT), session="s")
    await bank.retain(Message(id="m2", text="I saw Katharina Schnieder with Toby in Paris.", at=AT), session="s")
    (merge,) = await bank.merges()
    assert merge.undone is None
    return merge


async def entities(bank):
    """Surfaces by entity name."""
    tables = await bank._store.entity_tables()
    names = {entity.id: entity.name for entity in tables.entities}
    surfaces = {}
    for entity, surface, count in tables.aliases:
        surfaces.setdefault(names[entity], {})[surface] = count
    return surfaces


@pytest.mark.parametrize("reopened", [False, True])
async def test_a_merge_that_was_undone_is_not_made_again(tmp_path, reopened):
    memory = opened(tmp_path)
    bank = await memory.bank("bank")
    merge = await merged(bank)
    together = {"Katharina Schneider": 1, "Katharina Schnieder": 1}
    assert (await entities(bank))["Katharina Schneider"] == together
    undone = await bank.undo_merge(merge.id)
    assert undone.undone == AT
    assert await bank.merges() == (undone,)
    if reopened:
        await memory.close()
        memory = opened(tmp_path)
        bank = await memory.bank("bank")
        assert await bank.merges() == (undone,)
    for number in (3, 4):
        text = f"Katharina Schnieder came back with Toby in Paris, {number} times."
        await bank.retain(Message(id=f"m{number}", text=f"Then {text}", at=AT), session="s")
    after = await entities(bank)
    assert after["Katharina Schneider"] == {"Katharina Schneider": 1}
    assert after["Katharina Schnieder"] == {"Katharina Schnieder": 3}
    assert await bank.merges() == (undone,)
    found = await bank.forget(entity="Katharina Schnieder")
    assert set(found.messages) == {"m2", "m3", "m4"}
    assert await bank.merges() == ()
    await memory.close()


async def test_undoing_survives_an_export(tmp_path):
    async with opened(tmp_path) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await bank.undo_merge((await merged(bank)).id)
        await copy.import_([line async for line in bank.export()])
        assert await copy.merges() == await bank.merges()
        assert await entities(copy) == await entities(bank)
        await copy.retain(Message(text="Then I met Katharina Schnieder with Toby in Paris.", at=AT), session="s")
        assert (await entities(copy))["Katharina Schnieder"] == {"Katharina Schnieder": 2}


async def test_a_merge_is_undone_in_every_process(tmp_path):
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        bank, other = await one.bank("bank"), await two.bank("bank")
        merge = await merged(bank)
        await other.retain(Message(text="I met Katharina Schnieder with Toby in Paris again.", at=AT), session="s")
        await bank.undo_merge(merge.id)
        await other.retain(Message(text="Oh, Katharina Schnieder!", at=AT), session="s")
        for each in (bank, other):
            assert (await entities(each))["Katharina Schnieder"] == {"Katharina Schnieder": 3}


async def test_what_cannot_be_undone(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        merge = await merged(bank)
        with pytest.raises(InvalidInput, match="no merge 'x'"):
            await bank.undo_merge("x")
        await bank.undo_merge(merge.id)
        with pytest.raises(InvalidInput, match="was undone"):
            await bank.undo_merge(merge.id)
