"""Run by test_missing_items.py: stores messages without items, as an earlier version did, until it is killed."""

import asyncio
import os
import sys
from dataclasses import replace

from recollect import Memory
from recollect.domain.changes import Changeset
from recollect.testing.models import HashEmbedder


async def main(folder: str, source: str) -> None:
    async with Memory.open(folder, embedder=HashEmbedder(), model="none") as memory:
        whole, half = (await memory.bank(source))._store, (await memory.bank("half"))._store
        async for changes in whole.dump():
            if changes.items:
                os.write(1, b"no items yet\n")
                await asyncio.sleep(600)
            await half.commit(replace(Changeset(), sessions=changes.sessions, messages=changes.messages))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
