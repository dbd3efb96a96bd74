"""What one read gives is of one moment, though others write meanwhile."""

import asyncio
from datetime import UTC, datetime

import numpy as np

from recollect.domain.changes import Changeset, Session, Supersession
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.messages import Role, StoredMessage
from recollect.store.sqlite.folder import SqliteFolder

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def step(number: int) -> IndexedItem:
    item = Item(
        id=f"opinion:{number}",
        kind=ItemKind.OPINION,
        text="I think so.",
        session="opinion",
        speaker="Iris",
        sources=("m1",),
        mentioned=NOON,
        recorded=NOON,
        order=number,
    )
    return IndexedItem(item=item, vector=np.ones(2, dtype=np.float32), terms=np.zeros(0, dtype=np.uint32))


async def test_an_item_that_takes_anothers_place_is_never_missed(tmp_path):
    message = StoredMessage(
        id="m1",
        session="s",
        position=0,
        speaker="Ada",
        role=Role.USER,
        text="So?",
        captions=(),
        at=NOON,
        recorded=NOON,
    )
    folder = SqliteFolder(tmp_path)
    store = await folder.open("iris", embedder="two", dimension=2)
    await store.commit(Changeset(sessions=(Session(id="s", started=NOON),), messages=(message,), items=(step(0),)))

    async def write() -> None:
        for number in range(1, 200):
            moved = Supersession(item=f"opinion:{number - 1}", by=f"opinion:{number}", at=NOON)
            await store.commit(Changeset(items=(step(number),), supersedes=(moved,)))

    writing, seen = asyncio.create_task(write()), []
    while not writing.done():
        steps = await store.items_of([ItemKind.OPINION], superseded=True)
        seen.append(sum(item.superseded is None for item in steps))
    await writing
    await folder.close()
    assert len(seen) > 20
    assert set(seen) == {1}
