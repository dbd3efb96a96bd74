"""A bank of before labels and pinned messages is read still, and goes on with both."""

from dataclasses import replace

import numpy as np
from earlier import make_earlier_bank

from recollect.domain.changes import Changeset
from recollect.store.protocol import ForgetSelection
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.store_material import DIMENSION, EMBEDDER, changes_of, indexed, message

OLD = (
    "INSERT INTO session VALUES ('s1', 0, 0)",
    "INSERT INTO message VALUES (1, 'm0', 's1', 0, 'Ada', 'user', 'I adopted Toby.', '[]', 0, 0, 0)",
    "INSERT INTO item VALUES (1, 'turn:m0', 1, 'turn', 'I adopted Toby.', 's1', 'Ada', 0, 0, 0, 0,"
    " NULL, NULL, 4, NULL, NULL, '[]')",
    "INSERT INTO item_fts (rowid, text) SELECT seq, text FROM item",
    "INSERT INTO source VALUES (1, 0, 1)",
    "UPDATE state SET version = 1",
)


async def opened(folder):
    return await folder.open("ada", embedder=EMBEDDER, dimension=DIMENSION)


async def test_what_was_kept_before_has_no_label_and_is_not_pinned(tmp_path):
    vector = np.full(DIMENSION, 0.25, dtype="<f2").tobytes()
    indexing = ("INSERT INTO indexing VALUES (1, ?, ?, 0)", (vector, b""))
    make_earlier_bank(tmp_path / "ada.bank", 3, *OLD, indexing)
    folder = SqliteFolder(tmp_path)
    store = await opened(folder)
    (kept,), (item,) = await store.messages(), await store.items(["turn:m0"])
    assert (kept.text, kept.important, item.text, item.label) == ("I adopted Toby.", False, "I adopted Toby.", "")
    pinned = replace(message(1), important=True)
    entry = indexed(pinned)
    await store.commit(changes_of([pinned], items=(replace(entry, item=replace(entry.item, label="pinned")),)))
    assert [one.important for one in await store.messages()] == [False, True]
    assert [one.label for one in await store.items(["turn:m0", "turn:m1"])] == ["", "pinned"]
    await folder.close()


async def test_what_is_left_of_a_turn_is_still_pinned():
    folder = SqliteFolder(":memory:")
    store = await opened(folder)
    said = [replace(message(n), important=n == 1) for n in range(2)]
    await store.commit(changes_of(said, items=(indexed(said[0], others=("m1",)),)))
    torn = await store.plan_forget(ForgetSelection(messages=("m0",)))
    assert torn.remaining == (said[1],)
    await folder.close()


async def test_the_words_of_a_label_that_stays_are_not_taken_for_what_was_forgotten(tmp_path):
    folder = SqliteFolder(tmp_path)
    store = await opened(folder)
    words = "an unmistakable reason of some length"
    said = [message(0, text=words), message(1)]
    kept = indexed(said[1])
    await store.commit(changes_of(said, items=(indexed(said[0]), replace(kept, item=replace(kept.item, label=words)))))
    receipt = await store.forget(ForgetSelection(messages=("m0",)), Changeset())
    assert (receipt.verified, receipt.leftovers) == (True, ())
    await folder.close()
