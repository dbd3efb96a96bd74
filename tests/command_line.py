"""Fixtures that run commands: in this process or in one of its own, over a store in a folder of the test."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from standin_model import HINDSIGHT, standin
from typer.testing import CliRunner

from recollect.app import models
from recollect.cli import app

CHAT = """# 2023-07-11
Ada: I adopted Toby from the shelter.
He sleeps on the sofa already.
Bram: WHAT. since when are you a dog person
# 2023-10-15
Ada: I adopted a cat on Wednesday.
Bram: again??
"""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch, tmp_path):
    """So that ./recollect-data is the test's."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cli():
    """Run a command in this process."""

    def run(*args, stdin=None):
        done = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Result(code=done.exit_code, out=done.stdout, err=done.stderr)

    return run


@pytest.fixture
def process(tmp_path):
    """Run a command in a process of its own, with pipes and no terminal."""

    def run(*args, stdin=b"", env=None, **options):
        done = subprocess.run(
            [sys.executable, "-m", "recollect", *map(str, args)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=60,
            check=False,
            **options,
        )
        return Result(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    return run


@pytest.fixture
def chat(tmp_path) -> Path:
    path = tmp_path / "chat.txt"
    path.write_text(CHAT, "utf-8")
    return path


@pytest.fixture
def filled(cli, chat):
    """The store of the working folder with the chat in its default bank."""
    assert cli("retain", chat).code == 0
    return Path("recollect-data")


@pytest.fixture
def thinking(monkeypatch):
    """A model for every name but "none": it answers soundly, or what ``thinking(Answered=...)`` says instead."""
    named = models.build_model

    def of(**kept):
        model = standin(**kept)
        monkeypatch.setattr(models, "build_model", lambda name, **how: named(name) if name == "none" else model)
        return model

    return of


@pytest.fixture
def read(cli, chat, thinking):
    """The chat in the default bank, read for facts; gives the model."""
    model = thinking()
    assert cli("retain", chat, "--wait", *HINDSIGHT).code == 0
    return model
