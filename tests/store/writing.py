"""Run by test_write_marks.py: writes messages one by one, tells of each, and waits to be killed."""

import asyncio
import os
import sys

from recollect import Memory, Message
from recollect.testing.models import HashEmbedder


async def main(folder: str, writes: int) -> None:
    memory = Memory.open(folder, embedder=HashEmbedder(), model="none")
    bank = await memory.bank("bank")
    for number in range(writes):
        await bank.retain(Message(text=f"note {number} of process {os.getpid()}"), session="t")
        os.write(1, f"{number}\n".encode())
    await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
