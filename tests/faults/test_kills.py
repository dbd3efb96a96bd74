"""kill -9 in the middle of all that Hindsight does with a model: nothing is half there, and everything comes back.

A job whose worker vanished is free when its lease is over; one that takes its worker down again and again is laid aside
as dead, and done when it is tried again by hand.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from bank_under_test import OPERATIONS, START, Watch, made_of, truth
from endpoint import endpoint

from recollect.domain.jobs import JobState

POINTS = ("before", "during", "replied", "deriving", "writing", "committed")
AT_ANY_MOMENT = 8
LONGEST_S = 0.25


class Mortals:
    """Processes that live through the conversation, one after another."""

    def __init__(self, url: str) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._server = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("dying.py"), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self._line() == {"ready": True}

    def live(self, watch: Watch, now, *, after_s: float | None = None, **where: str) -> bool:
        """Let one live until it dies; whether it has come to the end. ``after_s`` seconds after opening it is killed.

        What it was told is kept is noted for the watch.
        """
        line = {"folder": str(watch.folder), "now": now.isoformat(), **where}
        self._server.stdin.write(f"{json.dumps(line)}\n")
        self._server.stdin.flush()
        child, lived = 0, False
        while "dead" not in (told := self._line()):
            assert "failed" not in told, told
            lived = lived or "lived" in told
            child = told.get("child", child)
            if "kept" in told:
                watch.kept.add(told["kept"])
            if after_s is not None and child and "open" in told:
                self._kill(child, after_s)
        assert lived or told["dead"] == -signal.SIGKILL
        return lived

    def _kill(self, child: int, after_s: float) -> None:
        time.sleep(after_s)
        with suppress(ProcessLookupError):  # it has come to the end
            os.kill(child, signal.SIGKILL)

    def close(self) -> None:
        self._server.stdin.close()
        assert self._server.wait(10) == 0
        self._server.stdout.close()

    def _line(self) -> dict:
        return json.loads(self._server.stdout.readline())


@pytest.fixture(scope="module")
def at():
    with endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def mortals(at):
    those = Mortals(at.url)
    yield those
    those.close()


@pytest.fixture
async def watch(at, tmp_path, assert_sound):
    there = await truth(at, tmp_path / "truth", assert_sound)
    return Watch(folder=tmp_path / "banks", assert_sound=assert_sound, truth=there)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_kill_9_at_every_point_of_an_operation(mortals, watch, operation):
    points = random.Random(operation).sample(POINTS, len(POINTS))
    now = START
    for point in points:
        assert not mortals.live(watch, now, operation=operation, point=point), f"there was nothing to die of at {point}"
        seen = await watch.look()
        waiting = {job.state for job in seen.jobs if job.kind == operation}
        if point != "committed" and not operation.endswith("reflect"):
            assert JobState.RUNNING in waiting, "its job is not done, and does not read as done"
        now += timedelta(days=1)
    await comes_back(mortals, watch, now)


async def test_kill_9_at_any_moment(mortals, watch):
    rng, now, died = random.Random(99), START, 0
    for _ in range(AT_ANY_MOMENT):
        died += not mortals.live(watch, now, after_s=rng.uniform(0, LONGEST_S))
        if watch.folder.exists():
            await watch.look()
        now += timedelta(days=1)
    assert died, "nobody was killed in time: the test shows nothing"
    await comes_back(mortals, watch, now)


async def comes_back(mortals, watch, now):
    assert mortals.live(watch, now)
    seen = await watch.look()
    assert seen.jobs == []
    assert made_of(seen) == watch.truth
