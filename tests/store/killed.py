"""Run by test_kill.py: forks, at each line it reads, a child that writes to a bank until it is killed."""

import asyncio
import json
import os
import random
import sys

from recollect import Memory, Message, Role
from recollect.testing.models import HashEmbedder

SESSIONS = 4
WORDS = "Ada adopted Toby the dog from a shelter in Paris on 3 May and met Dr. Grüße 🐕 again yesterday\n".split(" ")


async def write(folder: str, seed: int) -> None:
    rng = random.Random(seed)
    number = 0
    async with Memory.open(folder, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        tell({"open": seed})
        while True:
            session = f"s{rng.randrange(SESSIONS)}"
            batch = []
            for _ in range(rng.choice((1, 1, 1, 2, 5))):
                number += 1
                role = rng.choice((Role.USER, Role.ASSISTANT))
                text = f"note n{seed}x{number} " + " ".join(rng.choices(WORDS, k=rng.randrange(12)))
                speaker = "Ada" if role is Role.USER else "assistant"
                batch.append(Message(id=f"m{seed}-{number}", text=text, role=role, speaker=speaker))
            receipt = await bank.retain(batch, session=session)
            by_id = {message.id: message for message in batch}
            tell({"kept": [[id_, session, by_id[id_].speaker, by_id[id_].text] for id_ in receipt.messages]})


def tell(line: object) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


async def warm_up() -> None:
    """Load what is loaded on first use, so that the children have it."""
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        await bank.retain(Message(text="I met Ada in Paris on 3 May."))
        await bank.recall("Ada")


def main(folder: str) -> None:
    asyncio.run(warm_up())
    tell({"ready": True})
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                asyncio.run(write(folder, int(line)))
            except BaseException as exc:
                tell({"failed": repr(exc)})
            os._exit(1)
        tell({"child": child})
        os.waitpid(child, 0)
        tell({"dead": child})


if __name__ == "__main__":
    main(sys.argv[1])
