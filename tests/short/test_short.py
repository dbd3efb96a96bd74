"""Tests of everyday use, which run on every interpreter: they need only the dependency group ``short``."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from recollect import Memory, Message
from recollect.cli import app
from recollect.errors import MalformedLine
from recollect.sync import Memory as PlainMemory

JULY, OCTOBER = datetime(2023, 7, 11, 18, 5, tzinfo=UTC), datetime(2023, 10, 15, 9, 30, tzinfo=UTC)
TALK = {
    "july": [
        Message(speaker="Ada", text="I adopted Toby from the shelter this morning.", at=JULY, important=True),
        Message(speaker="Bram", text="What? Since when are you a dog person?", at=JULY),
    ],
    "october": [
        Message(speaker="Ada", text="I adopted a cat on Wednesday.", at=OCTOBER, captions=("a grey cat",)),
        Message(speaker="Bram", text="Again?", at=OCTOBER),
    ],
}


async def fill(bank):
    for session, messages in TALK.items():
        await bank.retain(messages, session=session)


async def lines_of(bank):
    return [line async for line in bank.export()]


async def test_what_was_retained_is_recalled_and_answers_a_question(tmp_path):
    async with Memory.open(tmp_path) as memory:
        await fill(await memory.bank("ada"))
    async with Memory.open(tmp_path) as memory:
        bank = await memory.bank("ada", create=False)
        found = await bank.recall("When did Ada adopt Toby?", limit=3)
        assert found.receipt.complete
        assert "Toby" in found.evidence[0].text
        assert found.evidence[0].occurred.start.date() == JULY.date()
        answer = await bank.ask("Who adopted a cat?")
        assert "cat" in answer.evidence[0].text
        assert [m.text for m in await bank.messages()] == [m.text for talk in TALK.values() for m in talk]


async def test_an_export_is_imported_whole(tmp_path):
    async with Memory.open(tmp_path) as memory:
        bank, copy = await memory.bank("ada"), await memory.bank("copy")
        await fill(bank)
        header, *lines = await lines_of(bank)
        assert {json.loads(line)["type"] for line in lines} >= {
            "session",
            "message",
            "item",
            "entity",
            "mention",
            "link",
        }
        await copy.import_([header, *lines])
        assert (await lines_of(copy))[1:] == lines
        found, again = [await one.recall("Who adopted a cat?") for one in (bank, copy)]
        assert [(one.id, one.score) for one in again.evidence] == [(one.id, one.score) for one in found.evidence]


async def test_a_malformed_line_is_named_and_says_what_is_wrong(tmp_path):
    async with Memory.open(tmp_path) as memory:
        bank, copy = await memory.bank("ada"), await memory.bank("copy")
        await fill(bank)
        lines = await lines_of(bank)
        at = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == "message")
        lines[at] = json.dumps({**json.loads(lines[at]), "at": "soon", "mood": "good"})
        with pytest.raises(MalformedLine, match=r"soon.* @ \$\.at; .*mood") as caught:
            await copy.import_(lines)
        assert caught.value.line == at + 1


async def test_what_is_forgotten_is_in_no_file(tmp_path):
    async with Memory.open(tmp_path) as memory:
        bank = await memory.bank("ada")
        await fill(bank)
        receipt = await bank.forget(session="july")
        assert receipt.verified
        found = await bank.recall("When did Ada adopt Toby?")
        assert not any("Toby" in piece.text for piece in found.evidence)
    assert not any(b"Toby" in file.read_bytes() for file in tmp_path.iterdir())


def test_it_works_without_await(tmp_path):
    with PlainMemory.open(tmp_path) as memory:
        bank = memory.bank("ada")
        for session, messages in TALK.items():
            bank.retain(messages, session=session)
        assert "cat" in bank.recall("Who adopted a cat?", limit=1).evidence[0].text


@pytest.fixture(autouse=True)
def _scrubbed(monkeypatch):
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)


def test_the_command_line_keeps_finds_moves_and_forgets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.txt").write_text("# 2023-07-11\nAda: I adopted Toby.\n# 2023-10-15\nAda: I adopted a cat.\n")

    def run(*command):
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    run("retain", "chat.txt")
    assert "Toby" in json.loads(run("recall", "Who is Toby?", "--limit", "1", "--json"))["evidence"][0]["text"]
    run("export", "bank.jsonl")
    run("import", "bank.jsonl", "--bank", "copy")
    assert run("export", "-", "--bank", "copy").splitlines()[1:] == run("export", "-").splitlines()[1:]
    run("forget", "--session", "2023-07-11", "--yes")
    assert "Toby" not in run("export", "-")
    assert {bank["name"]: bank["messages"] for bank in json.loads(run("banks", "--json"))} == {"default": 1, "copy": 2}


def test_the_demo_runs_as_a_program_and_leaves_nothing_open(tmp_path):
    command = [sys.executable, "-W", "error", "-m", "recollect", "demo"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")  # a connection that is left open would be told there
    assert "for 6 of 6 questions" in done.stdout
    assert "verified: none of their words is left" in done.stdout
