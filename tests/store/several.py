"""Run by test_processes.py: forks processes that begin at the same moment, and tells what became of them."""

import asyncio
import json
import os
import sys
import traceback

from recollect import Memory, Message, Role
from recollect.testing.models import HashEmbedder


async def write(folder: str, who: int, count: int) -> None:
    async with Memory.open(folder, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        for number in range(count):
            role = Role.ASSISTANT if number % 3 == 2 else Role.USER
            text = f"w{who}x{number} Ada Lovelace and Toby"
            message = Message(id=f"m{who}-{number}", text=text, role=role, speaker=role.value)
            await bank.retain(message, session=f"s{number % 2}")
            os.write(1, f"w{who}x{number}\n".encode())


async def make(folder: str, who: int, count: int) -> None:
    """Open new banks, all processes the same ones at the same time."""
    async with Memory.open(folder, embedder=HashEmbedder()) as memory:
        for number in range(count):
            bank = await memory.bank(f"bank{number}")
            await bank.retain(Message(text=f"w{who} was here", id=f"m{who}"), session=f"s{who}")


async def warm_up() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        await (await memory.bank("bank")).retain(Message(text="I met Ada."))


def main(what: str, folder: str, processes: int, count: int) -> int:
    asyncio.run(warm_up())
    gate, opened = os.pipe()
    children = []
    for who in range(processes):
        child = os.fork()
        if not child:
            os.close(opened)
            os.read(gate, 1)
            try:
                asyncio.run({"write": write, "make": make}[what](folder, who, count))
            except BaseException:
                os.write(2, json.dumps({"who": who}).encode() + traceback.format_exc().encode())
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(opened)  # the end of the pipe sets all of them off
    return max(os.waitpid(child, 0)[1] for child in children)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
