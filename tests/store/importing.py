"""Run by test_imports.py: imports a bank, and tells when half of the lines are read. Then it waits, or goes on."""

import asyncio
import os
import sys

from recollect import Memory
from recollect.testing.models import HashEmbedder


def lines_of(file: str, pause: bool):
    with open(file, encoding="utf-8", newline="\n") as text:
        lines = text.readlines()
    for number, line in enumerate(lines):
        if number == len(lines) // 2:
            os.write(1, b"half\n")
            if pause:
                sys.stdin.readline()
        yield line


async def main(folder: str, name: str, file: str, pause: bool) -> None:
    async with Memory.open(folder, embedder=HashEmbedder(), model="none") as memory:
        info = await memory.import_bank(name, lines_of(file, pause))
    os.write(1, f"imported {info.messages}\n".encode())


if __name__ == "__main__":
    folder, name, file, *pause = sys.argv[1:]
    asyncio.run(main(folder, name, file, bool(pause)))
