"""Run by test_write_turns.py: asks for the turn to write a bank, says so, and holds it until it is told."""

import asyncio
import sys
from pathlib import Path

from recollect.store.sqlite.turns import hold_turn


async def main(bank: str) -> None:
    async with hold_turn(Path(bank)):
        print("has the turn", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    print("ends", flush=True)


asyncio.run(main(sys.argv[1]))
