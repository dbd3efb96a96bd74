"""Run by test_draining.py: a second process that works on the same bank; prints which jobs it did.

It says when it is at its first job, and waits there until the other process is at one too.
"""

import asyncio
import sys
from pathlib import Path

from hands import GO_ON, Hand, opened, until, worker_of


async def main(folder: Path) -> None:
    banks, store = await opened(folder)
    told = False

    async def does(job) -> None:
        nonlocal told
        if not told:
            told = True
            print("at work", flush=True)
        await until((folder / GO_ON).exists)

    hand = Hand(does=does)
    await worker_of(store, hand).drain()
    print(*hand.ended)
    await banks.close()


asyncio.run(main(Path(sys.argv[1])))
