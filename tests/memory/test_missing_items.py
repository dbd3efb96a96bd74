"""Messages that a killed program has left without items are encoded when the bank is opened."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Memory, Message, Role
from recollect.errors import ModelUnavailable
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)


def opened(folder, embedder=None, **how):
    return Memory.open(folder, embedder=embedder or HashEmbedder(), **{"model": "none", "clock": lambda: AT} | how)


async def fill(bank, sessions=3, pairs=3):
    for session in range(sessions):
        said = []
        for n in range(pairs):
            at, name = AT + timedelta(days=session, minutes=n), f"{session}-{n}"
            said.append(Message(id=f"u{name}", text=f"On day {name} I met Ada Lovelace in Leeds.", at=at))
            said.append(Message(id=f"a{name}", text=f"How was {name}?", role=Role.ASSISTANT, speaker="ai", at=at))
        await bank.retain(said, session=f"s{session}")


async def copy_messages(source, target, wanted=lambda message: True):
    """Store the messages of another bank without what was derived from them."""
    async for changes in source._store.dump():
        said = tuple(message for message in changes.messages if wanted(message))
        sessions = tuple(one for one in changes.sessions)
        await target.commit(replace(type(changes)(), sessions=sessions, messages=said))


async def turns_of(bank):
    """Every turn with its messages and its vector."""
    values = [json.loads(line) async for line in bank.export()]
    items = [value for value in values if value["type"] == "item"]
    return {one["item"]["id"]: (one["item"]["sources"], one["item"]["text"], one["vector"]) for one in items}


def store_messages_and_die(folder):
    script = Path(__file__).with_name("half_bank.py")
    with subprocess.Popen([sys.executable, script, folder, "whole"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "no items yet\n"
        process.kill()


async def test_a_killed_program_leaves_messages_and_opening_encodes_them(tmp_path, caplog, assert_sound):
    async with opened(tmp_path) as memory:
        await fill(await memory.bank("whole"))
    store_messages_and_die(tmp_path)
    async with opened(tmp_path) as memory:
        half, whole = await memory.bank("half"), await memory.bank("whole")
        assert "bank 'half': encoded 18 messages" in caplog.text
        assert await turns_of(half) == await turns_of(whole)
        assert (await half.info()).entities == (await whole.info()).entities
        found = await half.recall("When did I meet Ada on day 1-1?")
        assert found.evidence[0].sources == ("u1-1", "a1-1")
        caplog.clear()
    async with opened(tmp_path) as memory:
        await memory.bank("half")
        assert not caplog.text
    assert_sound(tmp_path / "half.bank")


async def test_some_hundred_are_encoded_at_a_time_and_turns_go_on_across_them(tmp_path, monkeypatch):
    monkeypatch.setattr("recollect.memory.bank._ENCODED_AT_ONCE", 7)  # in the middle of a session, and of a turn
    async with opened(tmp_path) as memory:
        whole = await memory.bank("whole")
        await fill(whole, sessions=2, pairs=6)
        half = (await memory.bank("half"))._store
        await copy_messages(whole, half)
    async with opened(tmp_path) as memory:
        half = await memory.bank("half")
        assert await turns_of(half) == await turns_of(await memory.bank("whole"))


async def test_only_what_is_missing_is_encoded(tmp_path):
    """Messages were retained after the half import: the missing ones are those before, and one in between."""
    async with opened(tmp_path) as memory:
        whole = await memory.bank("whole")
        await fill(whole)
        half = await memory.bank("half")
        await copy_messages(whole, half._store, lambda message: message.session != "s2")
        await half.retain(Message(id="later", text="Later I met Bram.", at=AT), session="s1")
        before = await half._store.messages_without_items(100)
        assert [message.id for message in before] == [m.id for m in await whole.messages() if m.session != "s2"]
        assert await half.encode_missing() == 12
        assert await half.encode_missing() == 0
        turns = await turns_of(half)
        assert turns.pop("turn:0:later")[0] == ["later"]
        wanted = {id_: turn for id_, turn in (await turns_of(whole)).items() if ":u2-" not in id_}
        assert turns == wanted


async def test_jobs_and_segments_are_made_for_them(tmp_path):
    async with opened(tmp_path, recipe="emem") as memory:
        whole = await memory.bank("whole")
        await fill(whole)
        half = await memory.bank("half")
        await copy_messages(whole, half._store)
        await half.encode_missing()
        assert await half._store.unsegmented() == []
    async with opened(tmp_path, recipe="hindsight") as memory:
        whole, half = await memory.bank("kept"), await memory.bank("lost")
        await fill(whole)
        await copy_messages(whole, half._store)
        await half.encode_missing()
        jobs = [(await bank.jobs(), await bank._store.find_unread()) for bank in (whole, half)]
        assert all(queued and not unread for queued, unread in jobs)  # what jobs name is not unread


class Down(HashEmbedder):
    async def embed(self, texts, *, purpose="document"):
        raise ModelUnavailable("down")


async def test_a_bank_opens_while_the_embedder_is_down_and_the_next_opening_tries_again(tmp_path, caplog):
    async with opened(tmp_path) as memory:
        whole = await memory.bank("whole")
        await fill(whole)
        await copy_messages(whole, (await memory.bank("half"))._store)
    async with opened(tmp_path, Down()) as memory:
        bank = await memory.bank("half")
        assert "cannot encode the messages without items of bank 'half': down" in caplog.text
        assert len(await bank.messages()) == 18
    async with opened(tmp_path) as memory:
        bank = await memory.bank("half")
        assert (await bank.info()).items == 9


async def test_messages_that_were_checked_are_not_looked_at_again(tmp_path, monkeypatch):
    monkeypatch.setattr("recollect.store.sqlite.reader._MOST_UNCHECKED", 10)
    async with opened(tmp_path) as memory:
        bank = await memory.bank("whole")
        await fill(bank)
        assert await bank._store.messages_without_items(5) == []

        def plan():
            with bank._store._database.read_transaction() as connection:
                return connection.execute("SELECT checked, (SELECT max(seq) FROM message) FROM file_state").fetchone()

        checked, newest = plan()
        assert checked == newest == 18
        await copy_messages(bank, (await memory.bank("half"))._store)
    async with opened(tmp_path) as memory:
        assert (await (await memory.bank("half")).info()).items == 9


@pytest.mark.parametrize("recipe", ["default", "recmem", "remem", "emem", "memr3"])
async def test_no_recipe_leaves_messages_without_items(tmp_path, recipe):
    async with opened(tmp_path, recipe=recipe) as memory:
        bank = await memory.bank("bank")
        await fill(bank)
        await bank.retain(Message(text="", speaker="Ada"), session="s")
        assert await bank._store.messages_without_items(5) == []
