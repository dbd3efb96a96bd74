"""Run by test_forget_cut_short.py: a process that is killed while it forgets.

``before``: all is deleted, and nothing committed; ``after``: just after the commit; ``midway``: the file is written
anew, and still in the log.
"""

import asyncio
import os
import signal
import sys

from recollect import Memory, Profile
from recollect.store.sqlite import forget, scrub, store
from recollect.testing.models import HashEmbedder


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(folder: str, moment: str, *messages: str) -> None:
    if moment == "before":
        forget.write_changes = die
    elif moment == "after":
        store.scrub_files = die
    else:
        folds = iter([scrub._fold_log])
        scrub._fold_log = lambda connection: next(folds, die)(connection)
    async with Memory.open(folder, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        await bank.set_profile(Profile(name="Ada"))  # the first write goes to the file at once, the next to the log
        await bank.forget(messages=messages)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
