"""A process forks while a memory is open: the child hears of it at once, and nobody loses what was acknowledged."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


async def run(what, folder):
    """The lines that the program printed. A hang is ended by the test's timeout."""
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        Path(__file__).with_name("forking.py"),
        *(what, folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    out, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    return out.decode().splitlines()


@pytest.mark.parametrize("facade", ["use_sync", "use_async"])
async def test_a_memory_that_the_parent_used_is_refused_at_once_in_the_child(tmp_path, facade, assert_sound):
    *lines, parent = await run(facade, tmp_path)
    told = dict(line.split(" ", 1) for line in lines)
    assert told.pop("close") == "None"
    assert set(told.values()) == {"OpenedBeforeFork"}
    assert parent == {"use_sync": "parent ['p1', 'p2']", "use_async": "parent 10"}[facade]
    assert_sound(tmp_path / "ada.bank")


async def test_a_memory_that_nobody_has_used_before_the_fork_works_after_it(tmp_path):
    assert await run("open_before_and_use_after", tmp_path) == ["child 1 1", "child 2 2"]


async def test_a_child_keeps_what_it_stored_when_the_parent_closes(tmp_path, assert_sound):
    assert await run("write_in_a_child_while_the_parent_closes", tmp_path) == ["kept ['p1', 'c1', 'c2']"]
    assert_sound(tmp_path / "ada.bank")


async def test_forks_between_the_writes_of_threads_lose_nothing(tmp_path, assert_sound):
    assert await run("fork_while_threads_write", tmp_path) == ["lost []"]
    assert_sound(tmp_path / "ada.bank")


async def test_a_bank_that_was_in_use_during_the_fork_is_refused_in_the_child(tmp_path, assert_sound):
    lines = await run("fork_while_a_connection_is_in_use", tmp_path)
    assert lines == ["same OpenedBeforeFork", "other bram", "parent ['p1', 'p2']"]
    assert_sound(tmp_path / "ada.bank")
