"""What was acknowledged survives kill -9, and nothing is ever half there."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing.models import HashEmbedder

KILLS = 120
LOOK_AFTER = 20
LONGEST_MS = 150


class Victims:
    """Processes that write to a bank, one after another."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._server = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("killed.py"), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._expect("ready")

    def kill_one(self, seed: int, writes: int, after_s: float, *, while_opening: bool) -> list[list[str]]:
        """Start one, let it write, kill it a little later; gives the messages that it was told were kept."""
        self._server.stdin.write(f"{seed}\n")
        self._server.stdin.flush()
        kept: list[list[str]] = []
        child = self._expect("child", kept) if while_opening else None
        if child is None:
            told = [self._line(), self._line()]  # in either order
            assert {key for line in told for key in line} == {"child", "open"}, told
            child = next(line["child"] for line in told if "child" in line)
            for _ in range(writes):
                kept += self._expect("kept")
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
        assert self._expect("dead", kept) == child
        return kept

    def close(self) -> None:
        self._server.stdin.close()
        assert self._server.wait(10) == 0
        self._server.stdout.close()

    def _expect(self, key: str, kept: list[list[str]] | None = None):
        while key not in (line := self._line()):
            if kept is not None:
                kept += line.get("kept", [])
            assert "failed" not in line, line
        return line[key]

    def _line(self) -> dict[str, object]:
        return json.loads(self._server.stdout.readline())


@pytest.mark.timeout(120)
async def test_acknowledged_messages_survive_kill_9(tmp_path, assert_sound):
    rng = random.Random(20240501)
    folder = tmp_path / "banks"
    victims = Victims(folder)
    kept: dict[str, list[str]] = {}
    try:
        for kill in range(KILLS):
            writes, after = rng.randrange(3), rng.uniform(0, LONGEST_MS / 1000)
            for message in victims.kill_one(kill, writes, after, while_opening=kill % 5 == 0):
                assert message[0] not in kept
                kept[message[0]] = message
            if kill % LOOK_AFTER == LOOK_AFTER - 1:
                await look(folder, kept, assert_sound)
    finally:
        victims.close()
    assert len(kept) > KILLS, "the victims died before they did anything: the test shows nothing"


async def look(folder: Path, kept: dict[str, list[str]], assert_sound) -> None:
    async with Memory.open(folder, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        there = {m.id: [m.id, m.session, m.speaker, m.text] for m in await bank.messages()}
        assert {id_: there.get(id_) for id_ in kept} == kept
        for id_ in random.Random(len(kept)).sample(sorted(kept), 3):
            word = kept[id_][3].split(" ")[1]
            # Not among the very first: words of a long exchange rank below what hashed vectors take for alike.
            found = await bank.recall(f"What was {word}?", limit=30)
            assert found.receipt.complete
            assert any(id_ in evidence.sources for evidence in found.evidence), (word, found)
    assert_sound(folder / "bank.bank")
