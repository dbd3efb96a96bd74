"""``recollect worker``: once, and until it is told to stop."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from language_server import completion, language_server
from standin_model import HINDSIGHT, make_due, sound

from recollect.domain.codec import to_json


def test_once_does_all_banks_and_ends(cli, chat, thinking):
    model = thinking()
    for bank in ("a", "b"):
        cli("retain", chat, "--bank", bank, *HINDSIGHT)
    done = cli("worker", "--once", *HINDSIGHT)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert len(model.prompts) == 4
    for bank in ("a", "b"):
        assert cli("jobs", "--bank", bank, "--json").json() == []


def test_once_does_the_banks_that_it_is_given(cli, chat, thinking):
    thinking()
    for bank in ("a", "b"):
        cli("retain", chat, "--bank", bank, *HINDSIGHT)
    assert cli("worker", "--once", "--bank", "b", *HINDSIGHT).code == 0
    assert len(cli("jobs", "--bank", "a", "--json").json()) == 2


def test_a_bank_that_cannot_be_read_does_not_keep_the_others_waiting(cli, chat, thinking):
    thinking()
    cli("retain", chat, "--bank", "z", *HINDSIGHT)
    Path("recollect-data/a.bank").write_bytes(b"no bank at all" * 1000)
    done = cli("worker", "--once", *HINDSIGHT)
    assert done.code == 1
    assert done.err.startswith("bank a: ")
    assert cli("jobs", "--bank", "z", "--json").json() == []


def test_a_bank_that_is_not_there_is_an_error(cli, filled, thinking):
    thinking()
    assert cli("worker", "--once", "--bank", "nobody", *HINDSIGHT).code == 1
    done = cli("worker", "--bank", "nobody", *HINDSIGHT)
    assert done.code == 1
    assert done.err.startswith("error: no bank 'nobody'")


def test_where_there_would_never_be_work_it_says_so(cli, filled):
    done = cli("worker", "--recipe", "tempr", "--model", "openai:x")
    assert done.code == 2
    assert "no background work" in done.err
    done = cli("worker", "--recipe", "hindsight")
    assert done.code == 2
    assert "RECOLLECT_MODEL" in done.err


def answer(body):
    """Answer as the stand-in does, by the name of the schema."""
    value = sound(body["messages"][-1]["content"], body["response_format"]["json_schema"]["name"])
    return completion(json.dumps(to_json(value)))


@pytest.fixture
def served(monkeypatch):
    """The environment names a model that is answered for over HTTP, also in other processes."""
    with language_server() as server:
        server.answer = answer
        for name, value in {"RECIPE": "hindsight", "MODEL": "openai:x", "BASE_URL": server.url}.items():
            monkeypatch.setenv(f"RECOLLECT_{name}", value)
        yield


def due_at_once(cli, chat, bank):
    """The chat in a bank; its jobs do not wait for more to come."""
    assert cli("retain", chat, "--bank", bank).code == 0
    make_due(bank)


def done_soon(cli, bank):
    deadline = time.monotonic() + 60
    while any("extract" in job["id"] for job in cli("jobs", "--bank", bank, "--json").json()):
        assert time.monotonic() < deadline, cli("jobs", "--bank", bank).out
        time.sleep(0.2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_until_it_is_told_to_stop(cli, chat, tmp_path, served, number):
    due_at_once(cli, chat, "first")
    command = [sys.executable, "-m", "recollect", "worker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as working:
        try:
            done_soon(cli, "first")
            due_at_once(cli, chat, "later")
            done_soon(cli, "later")
            working.send_signal(number)
            assert working.wait(20) == 0
        finally:
            working.kill()
        assert working.stderr.read() == b"working on bank first\nworking on bank later\n"
    facts = [
        len(cli("recall", "Toby", "--kind", "fact", "--bank", bank, "--json").json()["evidence"])
        for bank in ("first", "later")
    ]
    assert min(facts) > 0


def test_few_banks_with_jobs_among_many(cli, chat, thinking, monkeypatch):
    from recollect.store.sqlite.folder import SqliteFolder

    thinking()
    for bank in range(12):
        cli("retain", chat, "--bank", f"quiet{bank}", "--recipe", "tempr")
    for bank in ("first", "second"):
        cli("retain", chat, "--bank", bank, *HINDSIGHT)
    opened = []
    make = SqliteFolder._make_store
    monkeypatch.setattr(
        SqliteFolder, "_make_store", lambda self, name, *how: opened.append(name) or make(self, name, *how)
    )
    assert cli("worker", "--once", *HINDSIGHT).code == 0
    assert sorted(opened) == ["first", "second"]
    for bank in ("first", "second"):
        assert cli("jobs", "--bank", bank, "--json").json() == []
