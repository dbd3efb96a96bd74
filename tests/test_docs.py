"""Docs cannot lie: fences run, and every command, option and setting is told of."""

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from standin_model import standin

from recollect.app import models, settings
from recollect.cli import app
from recollect.domain.items import ItemKind
from recollect.models.language import ModelRole

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
REFERENCE = ROOT / "docs" / "reference" / "cli.md"


def name_of(page):
    return str(page.relative_to(ROOT))


def run_fence(page, text, line, namespace):
    """Run a fence; an ``await`` may stand at its top, as in a notebook."""
    tree = ast.parse("\n" * line + text, filename=name_of(page))
    code = compile(tree, name_of(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:

        async def main():
            await eval(code, namespace)

        asyncio.run(main())
    else:
        exec(code, namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if PYTHON.search(page.read_text("utf-8"))], ids=name_of)
def test_python_fences_run(page, tmp_path, monkeypatch):
    """Where a fence names a language model, one that answers anything soundly stands in for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "build_model", lambda name, **how: standin())
    text = page.read_text("utf-8")
    namespace = {"__name__": "__docs__"}
    for fence in PYTHON.finditer(text):
        run_fence(page, fence[1], text[: fence.start(1)].count("\n"), namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if CONSOLE.search(page.read_text("utf-8"))], ids=name_of)
def test_commands_in_console_fences_succeed(page, tmp_path):
    """Lines that begin with "$ " are run by a shell, one after another, in one folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for fence in CONSOLE.finditer(page.read_text("utf-8")):
        for command in re.findall(r"^\$ (recollect .+|cat .+|printf .+)$", fence[1], re.M):
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"


def commands(group, words=("recollect",)):
    """Every command with its words, groups left out."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS)
def test_the_reference_tells_of_every_command_and_option(words):
    sections = re.split(r"^## ", REFERENCE.read_text("utf-8"), flags=re.M)
    shared = sections[1]
    (section,) = [section for section in sections if section.startswith(f"`{words}")]
    told = set(re.findall(r"`(--[a-z-]+)", section + shared))
    options = {option for param in COMMANDS[words].params for option in param.opts if option.startswith("--")}
    assert options - {"--help"} <= told


def test_the_reference_tells_of_nothing_else():
    told = set(re.findall(r"^## `(recollect [a-z ]+?) ?(?:[A-Z\"|-].*)?`$", REFERENCE.read_text("utf-8"), re.M))
    assert told == set(COMMANDS)
    options = {option for command in COMMANDS.values() for param in command.params for option in param.opts}
    assert set(re.findall(r"`(--[a-z-]+)", REFERENCE.read_text("utf-8"))) <= options | {"--version", "--help"}


SOURCE = ROOT / "src" / "recollect"


def test_the_reference_tells_of_every_variable_and_of_nothing_else():
    told = set(re.findall(r"RECOLLECT_[A-Z_]+[A-Z]", REFERENCE.read_text("utf-8")))
    read = set(re.findall(r"\"(RECOLLECT_[A-Z_]+[A-Z])\"", (SOURCE / "app" / "settings.py").read_text("utf-8")))
    assert len(read) > 8
    assert told == read | {f"RECOLLECT_MODEL_{role.upper()}" for role in ModelRole}


def test_the_reference_tells_of_every_key_of_the_file():
    (section,) = re.findall(r"^## Settings\n(.*?)^## ", REFERENCE.read_text("utf-8"), re.M | re.S)
    keys = {*settings._KNOWN, *settings._CALL, "name", "base_url", "api_key_env"}
    assert keys <= set(re.findall(r"`([a-z_]+)`", section))


def test_the_reference_tells_of_every_kind_of_item():
    assert set(ItemKind) <= set(re.findall(r"`([a-z]+)`", REFERENCE.read_text("utf-8")))


def test_the_pages_are_what_docstrings_and_help_texts_say():
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, root / "docs" / "generate.py", "--check"], cwd=root, check=False)
    assert done.returncode == 0, "run `make docs`"
