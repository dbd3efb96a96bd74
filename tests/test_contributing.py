"""What CONTRIBUTING.md tells a newcomer to write works as it stands there."""

import ast
import asyncio
import inspect
import json
import re
import textwrap
from pathlib import Path

import pytest
import typer.testing

from recollect import Message
from recollect.errors import BankNotFound
from recollect.recipes import registry
from recollect.sync import Memory

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
FENCE = re.compile(r"^( *)```python\n(.*?)^\1```$", re.M | re.S)


def fences_of(title):
    """The Python fences of a section, in order."""
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    return [textwrap.dedent(fence[2]) for fence in FENCE.finditer(section)]


async def run(fences):
    """Run the fences in one namespace; an ``await`` may stand at their top. Return the namespace."""
    namespace = {"__name__": "my_package"}
    for fence in fences:
        code = compile(ast.parse(fence), PAGE.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        pending = eval(code, namespace)
        if inspect.isawaitable(pending):
            await pending
    return namespace


async def test_the_paper_answers_and_cites(monkeypatch, capsys):
    monkeypatch.setattr(registry, "_registered", {})
    made = await run(fences_of("Add a paper as a recipe"))
    assert made["answer"].text == "Toby is a beagle."
    assert [citation.text for citation in made["answer"].citations] == ["Toby is a beagle."]
    assert "beagle" in capsys.readouterr().out


def test_the_command_reads_a_bank(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOLLECT_STORE", str(tmp_path))
    made = asyncio.run(run(fences_of("Add a command")))
    said = [Message(speaker=name, text="Good morning.") for name in ("Bram", "Ada")]
    with Memory.open(tmp_path) as memory:
        memory.bank("ada").retain(said, session="s")
    done = typer.testing.CliRunner().invoke(made["app"], ["--bank", "ada", "--json"])
    assert (done.exit_code, json.loads(done.stdout)) == (0, ["Ada", "Bram"])
    nowhere = typer.testing.CliRunner().invoke(made["app"], ["--bank", "bo"])
    with pytest.raises(BankNotFound):  # the group of all commands makes one line of it
        raise nowhere.exception
