"""Triples in an SQLite file: any bank and question, banks of before, another process's bank, words that are gone."""

import sqlite3
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from earlier import make_earlier_bank
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.domain.changes import Changeset
from recollect.domain.items import ItemKind
from recollect.domain.queries import Scope
from recollect.domain.triples import Aggregation, Ordering, TimeFilter, Triple, TriplePattern
from recollect.domain.validity import validity_of
from recollect.errors import NotABank
from recollect.store.protocol import ForgetSelection
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing import triple_material
from recollect.testing.store_material import DIMENSION, EMBEDDER, changes_of, indexed, message
from recollect.testing.store_triples import assert_as_by_hand, held_for, stated
from recollect.testing.triple_material import year


async def opened(folder):
    return await folder.open("ada", embedder=EMBEDDER, dimension=DIMENSION)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(), st.integers(0, 8))
async def test_any_bank_answers_any_question_as_brute_force_does(rng, count):
    folder = SqliteFolder(":memory:")
    changes = triple_material.bank(rng, count)
    await (await opened(folder)).commit(changes)
    for _ in range(3):
        await assert_as_by_hand(await opened(folder), [entry.item for entry in changes.items], changes.links, rng)
    await folder.close()


async def test_the_index_knows_when_every_item_holds():
    rng = Random(11)
    folder = SqliteFolder(":memory:")
    changes = triple_material.bank(rng, 400)
    await (await opened(folder)).commit(changes)
    with (await opened(folder))._index.live.locked_index() as index:
        columns = index.table.held.view.tolist()
    assert columns == [[*when.start, *when.end] for when in (validity_of(entry.item) for entry in changes.items)]
    await folder.close()


async def test_a_bank_that_is_opened_again_answers_as_before(tmp_path):
    rng = Random(3)
    folder = SqliteFolder(tmp_path)
    changes = triple_material.bank(rng, 50)
    await (await opened(folder)).commit(changes)
    again = {f"i{n}": triple_material.entry(rng, n) for n in rng.sample(range(50), 8)}
    kept = {entry.item.id: entry.item for entry in changes.items}
    for id_, entry in again.items():
        item = replace(entry.item, kind=kept[id_].kind, session=kept[id_].session)
        await (await opened(folder)).commit(Changeset(items=(replace(entry, item=item),)))
        kept[id_] = item
    links = [link for link in changes.links if link.source not in again]
    await folder.close()
    for graph_from in (-1, 1):
        folder = SqliteFolder(tmp_path, graph_from=graph_from)
        for _ in range(40):
            await assert_as_by_hand(await opened(folder), list(kept.values()), links, rng)
        await folder.close()


async def test_what_another_process_writes_is_found_and_counted(tmp_path):
    mine, other = SqliteFolder(tmp_path), SqliteFolder(tmp_path)
    await (await opened(mine)).commit(
        changes_of([message(n) for n in range(3)], items=(stated(0, held_for(None, None)),))
    )
    assert (await (await opened(other)).triples(TriplePattern(), Scope())).total == 1
    await (await opened(mine)).commit(Changeset(items=(stated(1, held_for(year(1980), None)),)))
    told = Scope(when=TimeFilter(start=year(1980), end=None))
    assert await (await opened(other)).count_triples(TriplePattern(), told, Aggregation.COUNT) == 2
    await (await opened(mine)).forget(ForgetSelection(messages=("m1",)))
    assert [item.id for item in (await (await opened(other)).triples(TriplePattern(), Scope())).items] == ["i0"]
    await mine.close()
    await other.close()


async def test_the_phrases_of_what_is_forgotten_are_gone_from_the_files(tmp_path):
    secret = {"subject": "Esmeralda Quintessence", "predicate": "was smuggled across", "object": "Ouagadougou harbour"}
    folder = SqliteFolder(tmp_path)
    store = await opened(folder)
    said = [message(0, text="In other words than the model's."), message(1)]
    entry = stated(0, Triple(**secret, start=year(1980)))
    await store.commit(changes_of(said, items=(indexed(said[0]), indexed(said[1]), entry)))
    assert _holding(tmp_path, secret.values()) == set(secret.values())
    receipt = await store.forget(ForgetSelection(messages=("m0",)))
    assert (receipt.items, receipt.verified, receipt.leftovers) == (2, True, ())
    assert _holding(tmp_path, secret.values()) == set()
    await folder.close()
    assert _holding(tmp_path, secret.values()) == set()


async def test_the_phrases_of_a_triple_that_stays_are_not_taken_for_what_was_forgotten(tmp_path):
    words = "an unmistakable phrase of some length"
    said = [message(0, text=words), message(1)]
    for place in ("subject", "predicate", "object"):
        folder = SqliteFolder(tmp_path / place)
        store = await opened(folder)
        kept = stated(1, replace(held_for(None, None), **{place: words}))
        await store.commit(changes_of(said, items=(indexed(said[0]), kept)))
        receipt = await store.forget(ForgetSelection(messages=("m0",)), Changeset())
        assert (receipt.verified, receipt.leftovers) == (True, ())
        await folder.close()


OLD = (
    "INSERT INTO session VALUES ('s1', 0, 0)",
    "INSERT INTO message VALUES (1, 'm0', 's1', 0, 'Ada', 'user', 'In 1980.', '[]', 0, 0, 0, 0)",
    "INSERT INTO item VALUES (1, 'turn:m0', 1, 'turn', 'In 1980.', 's1', 'Ada', 0, 0, 0, 0,"
    " NULL, NULL, 4, NULL, NULL, '[]', '')",
    "INSERT INTO item_fts (rowid, text) SELECT seq, text FROM item",
    "INSERT INTO source VALUES (1, 0, 1)",
    "INSERT INTO occurrence VALUES (1, 0, '1980', 315532800000000, 347155200000000, 0, 'year')",
    "UPDATE state SET version = 1",
)


async def test_a_bank_of_before_is_read_and_goes_on_with_triples(tmp_path):
    vector = np.full(DIMENSION, 0.25, dtype="<f2").tobytes()
    indexing = ("INSERT INTO indexing VALUES (1, ?, ?, 0)", (vector, b""))
    make_earlier_bank(tmp_path / "ada.bank", 5, *OLD, indexing)
    folder = SqliteFolder(tmp_path)
    store = await opened(folder)
    (turn,) = await store.items(["turn:m0"])
    assert (turn.kind, turn.triple, turn.occurred) == (ItemKind.TURN, None, year(1980))
    assert (await store.triples(TriplePattern(), Scope())).total == 0
    entry = stated(1, held_for(year(1980), year(1984)))
    await store.commit(changes_of([replace(message(1), session="s1")], items=(entry,)))
    page = await store.triples(TriplePattern(), Scope(when=TimeFilter(end=year(1990))), ordering=Ordering.DESC)
    assert list(page.items) == [entry.item]
    await folder.close()


async def test_a_damaged_time_of_a_triple_is_told(tmp_path):
    folder = SqliteFolder(tmp_path)
    await (await opened(folder)).commit(changes_of([message(0)], items=(stated(0, held_for(year(1980), None)),)))
    await folder.close()
    (file,) = tmp_path.glob("*.bank")
    connection = sqlite3.connect(file)
    connection.execute("UPDATE triple SET start_precision = 'lustrum'")
    connection.commit()
    connection.close()
    folder = SqliteFolder(tmp_path)
    with pytest.raises(NotABank):
        await (await opened(folder)).items(["i0"])
    await folder.close()


def _holding(folder, texts):
    """Which of the texts stand in any file, in either case."""
    files = [file.read_bytes() for file in folder.iterdir()]
    return {text for text in texts if any(one.encode() in file for file in files for one in (text, text.lower()))}
