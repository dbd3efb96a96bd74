"""What is forgotten is gone: from answers, from the index of every process, from the bytes of every file."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from recollect import Memory, Message, Role
from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job, JobState
from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput, ModelUnavailable
from recollect.store.sqlite import scrub as forgetting
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)
SECRET = "xylophone quagmire 4711 Zanzibar"


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder())


@pytest.fixture
async def memory(tmp_path):
    async with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
async def bank(memory):
    """Two sessions: s1 with answers, s2 between people; the secret is in m3."""
    bank = await memory.bank("bank")
    await bank.retain(
        [
            Message(id="m1", text="I met Ada Lovelace in Paris.", at=AT),
            Message(id="m2", text="Ada Lovelace is a mathematician.", role=Role.ASSISTANT, speaker="ai", at=AT),
            Message(
                id="m3",
                text=f"The secret of Balthazar is {SECRET}!",
                at=AT + timedelta(days=1),
                captions=(SECRET[::-1],),
            ),
            Message(
                id="m4",
                text="I shall guard it like a dragon.",
                role=Role.ASSISTANT,
                speaker="ai",
                at=AT + timedelta(days=1),
            ),
            Message(id="m5", text="Now for lunch.", at=AT + timedelta(days=1)),
        ],
        session="s1",
    )
    await bank.retain(
        [
            Message(id="m6", text="Toby likes Paris.", speaker="Ben", at=AT + timedelta(days=2)),
            Message(id="m7", text="And Ada Lovelace likes Toby.", speaker="Cleo", at=AT + timedelta(days=2)),
        ],
        session="s2",
    )
    return bank


async def sources(bank, text="Ada Balthazar Toby Paris dragon lunch", **scope):
    found = await bank.recall(text, limit=50, **scope)
    assert found.receipt.complete
    return {source for evidence in found.evidence for source in evidence.sources}


def vocabulary(folder):
    with closing(sqlite3.connect(folder / "bank.bank")) as connection:
        return {word for (word,) in connection.execute("SELECT term FROM item_words")}


def holding(folder, text):
    """Files that hold a text's bytes, in either case."""
    wanted = [text.encode(), text.lower().encode(), text.encode("utf-16-le")]
    return {file.name for file in folder.iterdir() if any(part in file.read_bytes() for part in wanted)}


ALL = {"m1", "m2", "m3", "m4", "m5", "m6", "m7"}


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ({"messages": "m3"}, {"m3"}),
        ({"messages": ["m3", "m6", "unknown"]}, {"m3", "m6"}),
        ({"session": "s1"}, {"m1", "m2", "m3", "m4", "m5"}),
        ({"session": ["s1", "s2"]}, ALL),
        ({"speaker": "ai"}, {"m2", "m4"}),
        ({"speaker": ["Ben", "Cleo"]}, {"m6", "m7"}),
        ({"entity": "Balthazar"}, {"m3", "m4"}),
        ({"entity": "Paris"}, {"m1", "m2", "m6"}),
        (
            {"during": Interval(start=AT + timedelta(days=1), end=AT + timedelta(days=2), precision=Precision.DAY)},
            {"m3", "m4", "m5"},
        ),
        ({"during": Interval(start=None, end=AT + timedelta(hours=1), precision=Precision.RANGE)}, {"m1", "m2"}),
        ({"during": Interval(start=AT + timedelta(days=2), end=None, precision=Precision.RANGE)}, {"m6", "m7"}),
        ({"messages": "m1", "speaker": "Ben"}, {"m1", "m6"}),
    ],
)
async def test_what_is_selected_is_gone_and_the_rest_is_found(tmp_path, memory, bank, assert_sound, what, gone):
    receipt = await bank.forget(**what)
    assert set(receipt.messages) == gone
    assert (receipt.verified, receipt.leftovers) == (True, ())
    assert receipt.items >= 1
    assert receipt.sessions == sum(session <= gone for session in ({"m1", "m2", "m3", "m4", "m5"}, {"m6", "m7"}))
    assert {m.id for m in await bank.messages()} == await sources(bank) == ALL - gone
    assert_sound(tmp_path / "bank.bank", gaps=True)
    await memory.close()
    bank = await memory.bank("bank")
    assert await sources(bank) == ALL - gone
    assert (await bank.info()).messages == len(ALL - gone)


async def test_the_receipt_counts(bank):
    async def mentions():
        return sum(count for _, _, count in (await bank._store.entity_tables()).aliases)

    before, mentioned = await bank.info(), await mentions()
    receipt = await bank.forget(session="s2")
    after = await bank.info()
    assert receipt.messages == ("m6", "m7")
    assert (receipt.sessions, receipt.items, receipt.jobs) == (1, 2, 0)
    assert receipt.links == before.links - after.links > 0
    assert receipt.entities == before.entities - after.entities == 1
    assert receipt.mentions == mentioned - await mentions() > 0
    assert receipt.seconds > 0


async def test_nothing_that_was_forgotten_is_left_in_any_file(tmp_path, memory, bank):
    other = opened(tmp_path)
    watcher = await other.bank("bank")
    assert "m3" in await sources(watcher)
    assert {"xylophone", "quagmire", "balthazar"} <= vocabulary(tmp_path)
    assert holding(tmp_path, SECRET)
    receipt = await bank.forget(messages="m3")
    assert receipt.verified
    gone = [SECRET, SECRET[::-1], "Balthazar", "xylophone", 'm3"']
    for word in gone[:4]:
        assert holding(tmp_path, word) == set(), word
    assert vocabulary(tmp_path).isdisjoint({"xylophone", "quagmire", "4711", "zanzibar", "balthazar", "secret"})
    assert await sources(watcher, SECRET) == ALL - {"m3"}
    assert len(await watcher._store.speakers()) == 4
    assert watcher._store._index.live._index.table.alive.view.sum() == (await bank.info()).items
    tables = await bank._store.entity_tables()
    assert "Balthazar" not in {e.name for e in tables.entities} | {surface for _, surface, _ in tables.aliases}
    await other.close()
    await memory.close()
    for word in gone[:4]:
        assert holding(tmp_path, word) == set(), word


async def test_short_secrets_are_looked_for_too(tmp_path, bank, monkeypatch):
    monkeypatch.setattr(forgetting, "_fold_log", lambda connection: False)  # the log is left as it is
    await bank.retain(Message(id="m8", text="pin 4712"), session="s3")
    receipt = await bank.forget(messages="m8")
    assert (receipt.verified, receipt.leftovers) == (False, ("bank.bank-wal",))
    assert holding(tmp_path, "pin 4712") == {"bank.bank-wal"}


async def test_words_that_others_say_too_are_no_leftovers(tmp_path, bank):
    await bank.retain(
        [Message(id="m8", text="hunter2 hunter2"), Message(id="m9", text="Hunter2 hunter2!")], session="s3"
    )
    receipt = await bank.forget(messages="m8")
    assert receipt.verified
    assert await sources(bank, "hunter2") == ALL | {"m9"}


async def test_survivors_of_a_turn_are_encoded_anew_with_all_that_belongs_to_it(tmp_path, bank, assert_sound):
    await bank.forget(messages="m1")
    found = (await bank.recall("mathematician")).evidence[0]
    assert (found.sources, found.text, found.speaker) == (("m2",), "Ada Lovelace is a mathematician.", "ai")
    tables = await bank._store.entity_tables()
    ada = next(entity for entity in tables.entities if entity.name == "Ada Lovelace")
    assert {mention.item for mention in await bank._store.mentions(ada.id)} == {"turn:0:m2", "turn:0:m7"}
    assert_sound(tmp_path / "bank.bank", gaps=True)


async def test_entities_forget_when_they_were_seen(bank):
    await bank.forget(messages=["m1", "m2"])
    tables = await bank._store.entity_tables()
    seen = {entity.name: (entity.first_seen, entity.last_seen) for entity in tables.entities}
    assert seen["Paris"] == seen["Ada Lovelace"] == (AT + timedelta(days=2),) * 2
    sessions = [session async for part in bank._store.dump() for session in part.sessions]
    assert {session.id: session.started for session in sessions} == {
        "s1": AT + timedelta(days=1),
        "s2": AT + timedelta(days=2),
    }


async def test_an_entity_that_loses_its_name_takes_one_that_is_left(bank):
    await bank.retain(Message(id="m8", text="Ms. Lovelace was kind."), session="s3")
    aliases = {surface for _, surface, _ in (await bank._store.entity_tables()).aliases}
    others = aliases - {"Ada Lovelace"}
    await bank.forget(messages=[m.id for m in await bank.messages() if "Ada Lovelace" in m.text])
    tables = await bank._store.entity_tables()
    names = {e.name for e in tables.entities}
    assert "Ada Lovelace" not in names | {surface for _, surface, _ in tables.aliases}
    assert names <= others
    assert await bank.merges() == tuple(m for m in await bank.merges() if m.surface in others)


async def test_forgetting_nothing(tmp_path, bank):
    before = (await bank.info()).items
    receipt = await bank.forget(messages="unknown", speaker="nobody", entity="Nemo", session="never")
    assert (receipt.messages, receipt.items, receipt.links, receipt.entities, receipt.sessions) == ((), 0, 0, 0, 0)
    assert (receipt.verified, receipt.leftovers) == (True, ())
    assert (await bank.info()).items == before
    with pytest.raises(InvalidInput):
        await bank.forget()


async def test_twice_is_nothing_the_second_time(bank):
    assert (await bank.forget(session="s1")).messages
    assert (await bank.forget(session="s1")).messages == ()


async def test_another_reader_that_holds_the_log_makes_an_honest_receipt(tmp_path, memory, bank):
    with closing(sqlite3.connect(tmp_path / "bank.bank", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM message").fetchone()
        await bank.retain(Message(id="m8", text="pin 4712"), session="s3")
        receipt = await bank.forget(messages=["m3", "m8"])
        assert set(receipt.messages) == {"m3", "m8"}
        assert holding(tmp_path, SECRET)
        assert not receipt.verified
        assert "bank.bank-wal" in receipt.leftovers
        assert receipt.seconds < 10
        assert await sources(bank) == ALL - {"m3"}
        await bank.retain(Message(text="writing goes on"), session="s1")
    await memory.close()
    assert holding(tmp_path, SECRET) == holding(tmp_path, "pin 4712") == set()


async def test_what_is_too_short_to_be_looked_for_is_not_called_gone(tmp_path, bank):
    with closing(sqlite3.connect(tmp_path / "bank.bank", isolation_level=None)) as reader:
        await bank.retain(Message(id="m8", text="4712"), session="s3")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM message").fetchone()
        receipt = await bank.forget(messages="m8")
        assert (receipt.verified, receipt.leftovers) == (False, ("bank.bank-wal",))


async def test_graphs_are_removed_and_do_not_come_back(tmp_path):
    first, second = SqliteFolder(tmp_path, graph_from=1), SqliteFolder(tmp_path, graph_from=1)

    def memory_of(folder):
        memory = opened(tmp_path)
        memory._stores = folder
        return memory

    async with memory_of(first) as one:
        await (await one.bank("bank")).retain([Message(id=f"m{n}", text=f"note {n}") for n in range(20)], session="s")
        await (await one.bank("bank")).recall("note")
    assert (tmp_path / "bank.hnsw").exists()
    stale = memory_of(second)
    await (await stale.bank("bank")).recall("note")
    async with memory_of(first) as one:
        receipt = await (await one.bank("bank")).forget(messages="m3")
        assert receipt.verified
        assert not list(tmp_path.glob("*.hnsw*"))
    for file in tmp_path.glob("*.hnsw*"):
        file.unlink()
    await stale.close()  # its index still holds what was forgotten
    assert not list(tmp_path.glob("*.hnsw*"))


async def test_an_answer_joins_the_last_turn_after_something_was_forgotten(bank):
    """m5 is the last that was said in s1; forgetting m3 must not put m4, its answer, behind it."""
    await bank.forget(messages="m3")
    await bank.retain(Message(id="m8", text="Enjoy your soup.", role=Role.ASSISTANT, speaker="ai"), session="s1")
    (found,) = [e for e in (await bank.recall("Enjoy soup")).evidence if "m8" in e.sources]
    assert found.sources == ("m5", "m8")


async def test_a_long_message_keeps_its_passages_when_its_answer_is_forgotten(tmp_path, bank, assert_sound):
    long = ". ".join(f"Sentence {n} about gardens" for n in range(800))
    await bank.retain(Message(id="m8", text=long), session="s3")
    await bank.retain(Message(id="m9", text="A lovely garden!", role=Role.ASSISTANT, speaker="ai"), session="s3")
    before = [item async for part in bank._store.dump() for item in part.items if "m8" in item.item.sources]
    await bank.forget(messages="m9")
    after = [item async for part in bank._store.dump() for item in part.items if "m8" in item.item.sources]
    assert "".join(e.item.text for e in sorted(after, key=lambda e: e.item.order)) == long
    assert len(before) == len(after)
    assert_sound(tmp_path / "bank.bank", gaps=True)


async def test_a_write_of_another_does_not_tear_a_turn(tmp_path, bank, assert_sound, monkeypatch):
    """Between looking what is torn and forgetting it, another process answers in the same turn."""
    async with opened(tmp_path) as other:
        theirs = await other.bank("bank")
        await bank.retain(Message(id="m8", text="And a soup."), session="s1")
        await bank.retain(Message(id="m9", text="Enjoy!", role=Role.ASSISTANT, speaker="ai"), session="s1")
        answers = iter(["m10"])

        async def torn_late(selection, torn=bank._store.plan_forget):
            found = await torn(selection)
            for id_ in answers:
                await theirs.retain(Message(id=id_, text="Truly!", role=Role.ASSISTANT, speaker="ai"), session="s1")
            return found

        monkeypatch.setattr(bank._store, "plan_forget", torn_late)
        monkeypatch.setattr("recollect.store.sqlite.turns.LONGEST_WAIT_S", 0.01)  # this process waits for itself
        await bank.forget(messages="m9")
        assert await sources(bank, "soup") == (ALL | {"m8", "m10"})
        (turn,) = await bank._store.items(["turn:0:m8"])
        assert turn.sources == ("m8", "m10")
    assert_sound(tmp_path / "bank.bank", gaps=True)


async def test_nothing_is_forgotten_while_what_is_left_cannot_be_encoded(tmp_path, bank):
    async with Memory.open(tmp_path, embedder=Down()) as memory:
        broken = await memory.bank("bank")
        with pytest.raises(ModelUnavailable):
            await broken.forget(messages="m1")
        assert {m.id for m in await broken.messages()} == ALL
        assert (await broken.forget(messages=["m1", "m2", "m5"])).verified  # whole turns need no embedder
    assert await sources(bank) == ALL - {"m1", "m2", "m5"}


class Down(HashEmbedder):
    async def embed(self, texts, *, purpose="document"):
        raise ModelUnavailable("down")


async def test_what_jobs_hold_is_gone_and_the_rest_of_them_waits(tmp_path, memory, bank):
    (m3,) = await bank.messages(["m3"])
    about = [Job(id=f"j{n}", kind="sum up", payload="s1", messages=("m3", "m5")) for n in range(3)]
    unlike = Job(id="other", kind="sum up", payload="s2", messages=("m6",))
    quoting = Job(id="quoting", kind="sum up", payload=f"{m3.text} 1", messages=("m3", "m5"))
    await bank._store.commit(Changeset(jobs=(*about, unlike, quoting)))
    for state in range(4):
        job = await bank._store.claim(["sum up"], "w", AT, 60)
        if state:
            later = AT if job.id == "other" else None
            await bank._store.settle(job, error=f"no JSON: {SECRET}", reply=SECRET, retry_at=later, now=AT)
    assert {record.state for record in await bank.jobs()} == {JobState.WAITING, JobState.RUNNING, JobState.DEAD}
    receipt = await bank.forget(messages="m3")
    assert (receipt.jobs, receipt.verified) == (4, True)
    left = {record.id: (record.state, record.messages) for record in await bank.jobs()}
    assert left == {f"j{n}": (JobState.WAITING, ("m5",)) for n in range(3)} | {"other": (JobState.WAITING, ("m6",))}
    await memory.close()
    assert holding(tmp_path, SECRET) == set()
