"""Nothing derived keeps a quote of what was forgotten, whatever it cites; what cannot be verified is not called so."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from recollect import Fact, Memory, Message
from recollect.domain.banks import Profile
from recollect.domain.changes import Changeset
from recollect.domain.entities import Entity, EntityKind, Mention, Merge
from recollect.domain.items import IndexedItem, Item, ItemKind, Occurrence
from recollect.domain.jobs import Job
from recollect.domain.links import Link, LinkKind
from recollect.domain.receipts import RemovedQuote, Verification
from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Triple
from recollect.errors import RecollectError
from recollect.memory.query_options import build_query
from recollect.methods.hindsight.reflector import FormedOpinion, ReflectReply
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.quote_rows import list_text_columns
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, tzinfo=UTC)
SECRET = "the code is 90417355 and the lover is Xavier Quintrell"
QUOTED = "her LOVER, (Xavier) Quíntrell's"  # other spelling, and not the whole text
DERIVED = (
    ItemKind.FACT,
    ItemKind.OBSERVATION,
    ItemKind.OPINION,
    ItemKind.GIST,
    ItemKind.EPISODE,
    ItemKind.SUMMARY,
    ItemKind.SEMANTIC,
    ItemKind.TRIPLE,
)


def opened(folder, **kw):
    return Memory.open(folder, embedder=HashEmbedder(), **kw)


@pytest.fixture
async def memory(tmp_path):
    async with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
async def bank(memory):
    """m0 has the secret; m1 and m2 have none, and everything that is derived here cites m1."""
    bank = await memory.bank("bank")
    said = (SECRET, "I like tea a lot", "I live in Leeds")
    for number, text in enumerate(said):
        await bank.retain(Message(id=f"m{number}", speaker="Ada", text=text, at=AT), session=f"s{number}")
    return bank


def derived(id_, text, kind=ItemKind.OBSERVATION, **fields):
    triple = Triple(subject="Ada", predicate="likes", object="tea") if kind is ItemKind.TRIPLE else None
    item = Item(
        id=id_,
        kind=kind,
        text=text,
        session="s1",
        speaker="Ada",
        sources=("m1",),
        mentioned=AT,
        recorded=AT,
        order=0,
        tokens=3,
        triple=triple,
    )
    vector = np.ones(64, dtype=np.float32) / 8
    return IndexedItem(item=replace(item, **fields), vector=vector, terms=np.array([1], dtype=np.uint32))


async def kept(bank):
    return {entry.item.id async for part in bank._store.dump() for entry in part.items} - {
        "turn:0:m0",
        "turn:0:m1",
        "turn:0:m2",
    }


def holding(folder, *texts):
    wanted = [form for text in texts for form in (text.encode(), text.encode("utf-16-le"))]
    return {file.name for file in folder.iterdir() if any(form in file.read_bytes() for form in wanted)}


@pytest.mark.parametrize("kind", DERIVED)
@pytest.mark.parametrize("quote", [SECRET, QUOTED, "90417355", "LOVER IS XAVIER"])
async def test_a_quote_of_what_it_does_not_cite_goes_with_it(tmp_path, memory, bank, kind, quote):
    items = (derived("clean", "Ada likes tea a lot", kind), derived("dirty", f"Ada said: {quote}.", kind))
    await bank._store.commit(Changeset(items=items))
    receipt = await bank.forget(messages="m0")
    assert (receipt.messages, receipt.verified) == (("m0",), True)
    assert receipt.quotes == (RemovedQuote(kind=kind.value, id="dirty"),)
    assert await kept(bank) == {"clean"}
    found = await bank.recall("lover code Xavier Quintrell 90417355")
    assert not [e for e in found.evidence if "Xavier" in e.text or "90417355" in e.text]
    await memory.close()
    assert holding(tmp_path, quote, "Quintrell") == set()


async def test_what_was_derived_from_a_quote_goes_too_and_a_fact_that_a_user_gave_stays(bank):
    await bank.add_facts(Fact(id="mine", subject="Ada", predicate="loves", object="Xavier Quintrell"))
    items = (derived("dirty", "90417355"), derived("on it", "so she is sly", derived_from=("dirty",)))
    await bank._store.commit(Changeset(items=items))
    receipt = await bank.forget(messages="m0")
    assert receipt.verified
    assert [quote.id for quote in receipt.quotes] == ["dirty"]
    assert await kept(bank) == {"given:mine"}


async def test_the_words_of_a_message_that_stays_are_no_quote(bank):
    await bank.retain(Message(id="m3", speaker="Bram", text="lover: Xavier Quintrell, 90417355!"), session="s3")
    await bank._store.commit(Changeset(items=(derived("both", "her lover is Xavier Quintrell (90417355)"),)))
    receipt = await bank.forget(messages="m0")
    assert (receipt.verified, receipt.quotes) == (True, ())
    assert await kept(bank) >= {"both"}


async def test_a_quote_of_a_removed_fact_goes_with_it(bank):
    told = "Ada keeps a second phone for calls with somebody from work"
    fact = derived("fact", told, ItemKind.FACT, sources=("m0",))
    await bank._store.commit(Changeset(items=(fact, derived("dirty", f"{told}, it seems"), derived("ok", "a phone"))))
    receipt = await bank.forget(messages="m0")
    assert [quote.id for quote in receipt.quotes] == ["dirty"]
    assert await kept(bank) == {"ok"}


async def test_a_phrase_of_the_model_is_no_quote(bank):
    """Every fact is worded alike: one that goes must not take the others along."""
    told = "Ada met her friends in the garden again and talked about number"
    facts = [derived(f"f{n}", f"{told} {n}", ItemKind.FACT, sources=("m0" if n == 0 else "m1",)) for n in range(6)]
    await bank._store.commit(Changeset(items=tuple(facts)))
    receipt = await bank.forget(messages="m0")
    assert (receipt.quotes, receipt.verified) == ((), True)
    assert await kept(bank) == {f"f{n}" for n in range(1, 6)}


async def test_all_other_places_lose_the_quote(tmp_path, memory, bank):
    ada = Entity(id="e1", name="Xavier Quintrell", kind=EntityKind.PERSON, first_seen=AT, last_seen=AT)
    items = (
        derived("a", "tea"),
        derived("label", "tea", label="90417355"),
        derived("when", "tea", occurrences=(Occurrence(words="90417355", interval=day()),)),
        derived(
            "triple", "tea", ItemKind.TRIPLE, triple=Triple(subject="Ada", predicate="loves", object="Xavier Quintrell")
        ),
    )
    changes = Changeset(
        items=items,
        entities=(ada,),
        mentions=(
            Mention(entity="e1", item="a", surface="Xavier Quintrell"),
            Mention(entity="e1", item="a", surface="the man"),
        ),
        merges=(
            Merge(
                id="x", entity="e1", surface="Xavier Quintrell", score=1, string=1, cooccurrence=0, temporal=0, at=AT
            ),
        ),
        links=(Link(source="a", target="turn:0:m1", kind=LinkKind.RELATION, weight=1.0, label="is Xavier Quintrell"),),
        jobs=(Job(id="j", kind="k", payload=SECRET), Job(id="other", kind="k", payload="tea")),
        settings=(("note", json.dumps(SECRET)), ("other", "1")),
    )
    await bank._store.commit(changes)
    await bank.set_profile(Profile(name="Iris", background=f"I am kind. {SECRET}! I help."))
    receipt = await bank.forget(messages="m0")
    assert (receipt.verification, receipt.leftovers) == (Verification.VERIFIED, ())
    told = {(quote.kind, quote.id) for quote in receipt.quotes}
    assert told == {
        ("observation", "label"),
        ("observation", "when"),
        ("triple", "triple"),
        ("link", ""),
        ("name", "e1"),
        ("job", "j"),
        ("profile", "profile"),
        ("setting", "note"),
    }
    assert (await bank.profile()).background == "I am kind. I help."
    assert [job.id for job in await bank.jobs()] == ["other"]
    assert {entity.name for entity in await bank._store.entities()} == {"the man", "Leeds"}
    assert await bank._store.merges() == ()
    await memory.close()
    assert holding(tmp_path, "Xavier", "90417355") == set()


def day():
    return Interval(start=AT, end=AT + timedelta(days=1), precision=Precision.DAY)


async def test_a_job_that_runs_begins_again(bank):
    """Its prompt may contain the forgotten words, even if it is about other messages."""
    await bank._store.commit(Changeset(jobs=(Job(id="j", kind="k", payload="", messages=("m1",)),)))
    job = await bank._store.claim(["k"], "w", AT, 60)
    await bank.forget(messages="m0")
    with pytest.raises(RecollectError):
        await bank._store.commit(Changeset(items=(derived("late", SECRET),), settled_job=job))
    assert (await bank._store.claim(["k"], "w", AT, 60)).messages == ("m1",)


async def test_a_dry_run_tells_and_changes_nothing(tmp_path, bank):
    await bank._store.commit(
        Changeset(items=(derived("dirty", QUOTED),), jobs=(Job(id="j", kind="k", payload="", messages=("m0", "m1")),))
    )
    before = [part async for part in bank._store.dump()]
    told = await bank.forget(messages="m0", dry_run=True)
    assert [[one.id for one in part.messages] for part in before] == [
        [one.id for one in part.messages] async for part in bank._store.dump()
    ]
    assert told.dry_run
    assert not told.verified
    assert {m.id for m in await bank.messages()} == {"m0", "m1", "m2"}
    assert await kept(bank) == {"dirty"}
    done = await bank.forget(messages="m0")
    same = ("messages", "sessions", "items", "links", "entities", "mentions", "jobs", "quotes", "possible")
    assert [getattr(told, name) for name in same] == [getattr(done, name) for name in same]


async def test_an_opinion_that_was_formed_while_something_was_forgotten_is_not_stored():
    def reflect(prompt, _):
        (tea,) = (int(line[1]) for line in prompt.text.splitlines() if line[:1] == "[" and "tea" in line)
        opinion = FormedOpinion(
            statement="I think Ada likes tea",
            reasoning=f"{SECRET}, so she drinks tea.",
            confidence=0.8,
            entities=("Ada",),
            rests_on=(tea,),
        )
        return ReflectReply(answer="Yes.", abstained=False, citations=(tea,), opinions=(opinion,))

    model, worker = FunctionModel(reflect), WorkerSettings(automatic=False)
    async with opened(":memory:", recipe="hindsight", model=model, worker=worker) as memory:
        bank = await memory.bank("bank")
        await bank.retain(Message(id="m0", text=SECRET, at=AT), session="s0")
        await bank.retain(Message(id="m1", text="I like tea a lot", at=AT), session="s1")
        query = build_query("Does Ada like tea?", {}, AT)
        reflector = await bank._method(None).reflector()
        response = await reflector.respond(query, bank._store)
        assert (await response.derive(bank._store)).items
        await bank.forget(messages="m0")
        assert await response.derive(bank._store) == Changeset()


ENTITY_SAID = {
    "cap": "I met Toby in Leeds.",
    "low": "i walked toby today",
    "up": "TOBY IS THE BEST",
    "poss": "That is toby's bowl.",
    "tag": "#toby and @Toby are his handles",
    "joined": "TobyBoy123 is his login",
    "none": "October is cold",
}


@pytest.mark.parametrize("name", ["Toby", "toby", "TOBY"])
async def test_an_entity_is_forgotten_however_it_is_spelled(bank, name):
    for id_, text in ENTITY_SAID.items():
        await bank.retain(Message(id=id_, text=text, speaker="Bram"), session=id_)
    await bank.retain(Message(id="own", text="Hello", speaker="Toby"), session="own")
    await bank._store.commit(Changeset(items=(derived("dirty", "Ada has a dog, toby"),)))
    told = await bank.forget(entity=name, dry_run=True)
    receipt = await bank.forget(entity=name)
    assert receipt.messages == told.messages == ("cap", "low", "up", "poss", "tag")
    assert receipt.possible == told.possible == ("joined", "own")
    assert receipt.verified
    assert {m.id for m in await bank.messages()} == {"m0", "m1", "m2", "joined", "own", "none"}


async def test_a_name_that_the_bank_has_merged_is_the_same_name(bank):
    said = ("I met Katharina Schneider with Toby in Paris.", "I saw Katharina Schnieder with Toby in Paris.")
    for number, text in enumerate((*said, "well, katharina SCHNIEDER it is", "Katharina was there")):
        await bank.retain(Message(id=f"k{number}", text=text, speaker="Cleo", at=AT), session="k")
    assert [merge.surface for merge in await bank.merges()][:1] == ["Katharina Schnieder"]
    receipt = await bank.forget(entity="katharina schneider")
    assert set(receipt.messages) >= {"k0", "k1", "k2"}
    assert {*receipt.messages, *receipt.possible} == {"k0", "k1", "k2", "k3"}


async def test_speakers_and_sessions_in_another_spelling(bank):
    receipt = await bank.forget(speaker="aDA", dry_run=True)
    assert receipt.messages == ("m0", "m1", "m2")
    receipt = await bank.forget(session=["S0", "ｓ1"])
    assert (receipt.messages, receipt.possible) == ((), ("m0", "m1"))


@pytest.mark.parametrize("text", ["\0" * 60, "\0\0\0\0\0\0"])
async def test_a_text_of_nul_characters_cannot_be_verified(bank, text):
    await bank.retain(Message(id="nul", text=text), session="n")
    receipt = await bank.forget(messages="nul")
    assert (receipt.messages, receipt.verified, receipt.verification) == (("nul",), False, Verification.UNKNOWN)
    assert "NUL" in receipt.reasons[0]


@pytest.mark.parametrize("text", ["secret plan\0of Balthazar", "\0\0secret plan of Balthazar\0"])
async def test_a_text_with_some_nul_characters_is_looked_for(tmp_path, memory, bank, text):
    await bank.retain(Message(id="nul", text=text), session="n")
    assert (await bank.forget(messages="nul")).verified
    await memory.close()
    assert holding(tmp_path, "Balthazar") == set()


async def test_captions_are_looked_for_as_they_are_written(tmp_path, memory, bank, monkeypatch):
    caption = 'a "red"\nvan \\ of Balthazar'
    await bank.retain(Message(id="c", text="look", captions=(caption,)), session="n")
    monkeypatch.setattr("recollect.store.sqlite.scrub._fold_log", lambda connection: False)
    assert (await bank.forget(messages="c")).leftovers == ("bank.bank-wal",)


async def filled(folder):
    """A closed bank with a row in every table."""
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        for number, text in enumerate((SECRET, "I met Ada Lovelace in Leeds today", "Lovelace was there")):
            await bank.retain(Message(id=f"m{number}", text=text, captions=("a van",), at=AT), session=f"s{number}")
        triple = Triple(subject="Ada", predicate="likes", object="tea")
        items = (
            derived("o", "tea", occurrences=(Occurrence(words="today", interval=day()),), label="x"),
            derived("t", "tea", ItemKind.TRIPLE, triple=triple),
        )
        entity = Entity(id="e1", name="Leeds", kind=EntityKind.LOCATION, first_seen=AT, last_seen=AT)
        mentions = (Mention(entity="e1", item="o", surface="Leeds"),)
        merge = Merge(id="x", entity="e1", surface="Leeds", score=1, string=1, cooccurrence=0, temporal=0, at=AT)
        links = (Link(source="o", target="t", kind=LinkKind.RELATION, weight=1.0, label="knows"),)
        jobs = (Job(id="j", kind="k", payload="p", messages=("m1",)),)
        await bank._store.commit(
            Changeset(items=items, entities=(entity,), mentions=mentions, merges=(merge,), links=links, jobs=jobs)
        )
        job = await bank._store.claim(["k"], "w", AT, 60)
        await bank._store.settle(job, error="no JSON", reply="{}", retry_at=AT, now=AT)
        await bank.set_profile(Profile(name="Iris", background="I am kind."))
    return folder / "bank.bank"


GROUND = {
    ("message", "id"),
    ("message", "session"),
    ("message", "speaker"),
    ("message", "text"),
    ("message", "captions"),
    ("session", "id"),
}
BLOBS = {("indexing", "vector"), ("indexing", "terms")}


def text_columns():
    with Database(None).read_transaction() as connection:
        return list_text_columns(connection)


def test_only_vectors_and_terms_are_stored_as_bytes():
    """Every other column of the schema is searched: a new table or column is, too, or this test names it."""
    query = """SELECT l.name, c.name, c.type FROM pragma_table_list l JOIN pragma_table_info(l.name) c
               WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite%'"""
    with Database(None).read_transaction() as connection:
        columns = {(table, column): kind for table, column, kind in connection.execute(query)}
    numbers = {key for key, kind in columns.items() if kind in ("INTEGER", "REAL")}
    assert columns.keys() - numbers - set(text_columns()) == BLOBS


@pytest.mark.parametrize(("table", "column"), [one for one in text_columns() if one not in GROUND])
async def test_no_column_of_the_schema_can_hold_forgotten_words_in_a_verified_bank(tmp_path, table, column):
    """The words are put into every column in turn. A new table or column is tested as soon as it is in the schema."""
    file = await filled(tmp_path)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if not rows:
            connection.execute(*INSERTS[table])
        chosen = WHERE.get(table, "1")
        values = connection.execute(f"SELECT rowid FROM {table} WHERE {chosen}") if table in ROWID else None
        where = f"rowid = {values.fetchone()[0]}" if values else chosen
        connection.execute("PRAGMA foreign_keys = OFF")
        secret = VALUES.get((table, column), SECRET)
        if (table, column) in CHECKED:
            with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (secret,))
            return
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (secret,))
    receipt = None
    async with opened(tmp_path) as memory:
        try:
            receipt = await (await memory.bank("bank")).forget(messages="m0")
        except RecollectError:  # a kind or a role that does not exist: the bank is damaged
            assert (table, column) in UNREADABLE
    left = holding(tmp_path, SECRET)
    if (table, column) in CONTENTS:
        assert receipt
        assert receipt.verified
    assert not (receipt and receipt.verified and left), receipt


CONTENTS = {
    ("item", "text"),
    ("item", "label"),
    ("triple", "subject"),
    ("triple", "predicate"),
    ("triple", "object"),
    ("occurrence", "words"),
    ("link", "label"),
    ("mention", "surface"),
    ("entity", "name"),
    ("entity_merge", "surface"),
    ("job", "payload"),
    ("job", "error"),
    ("job", "reply"),
    ("setting", "value"),
}
VALUES = {("setting", "value"): json.dumps({"name": "Iris", "background": f"I am kind. {SECRET}"})}
CHECKED = {("job", "state")}
ROWID = {"item", "triple"}
WHERE = {
    "item": "kind = 'observation'",
    "setting": "key = 'profile'",
    "link": "kind = 'relation'",
    "mention": "surface = 'Leeds' AND item = (SELECT seq FROM item WHERE id = 'o')",
    "entity": "id = 'e1'",
    "migration": "name = (SELECT min(name) FROM migration)",
    "occurrence": "words = 'today' AND item = (SELECT seq FROM item WHERE id = 'o')",
    "entity_merge": "id = 'x'",
    "job_message": "1",
}
INSERTS = {
    "ledger": ("INSERT INTO ledger VALUES (1, 0, 'o', 'r', 'm', 0, 1, 1, 1, 0, 1.0)",),
}
UNREADABLE = {
    ("item", "kind"),
    ("item", "network"),
    ("item", "stages"),
    ("link", "kind"),
    ("entity", "kind"),
    ("migration", "name"),
    ("message", "role"),
    ("occurrence", "precision"),
    ("triple", "start_precision"),
    ("triple", "end_precision"),
    ("setting", "key"),
    ("mention", "entity"),
    ("entity", "id"),
    ("entity_merge", "entity"),
    ("state", "author"),
    ("job_message", "job"),
    ("job", "id"),
    ("item", "session"),
}
