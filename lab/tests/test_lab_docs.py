"""The reference tells of every command of the laboratory, and of every option."""

import re
from pathlib import Path

import pytest
import typer.main
from test_docs import commands

from recollect.cli import app

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SHARED = (REFERENCE / "cli.md").read_text("utf-8").split("\n## ")[1]
SECTIONS = re.split(r"^## ", (REFERENCE / "cli-lab.md").read_text("utf-8"), flags=re.M)[1:]

ROOT = typer.main.get_command(app)
COMMANDS = {
    words: command
    for name in ("eval", "recordings")
    for words, command in commands(ROOT.get_command(None, name), ("recollect", name))
}


@pytest.mark.parametrize("words", COMMANDS)
def test_the_reference_tells_of_every_command_and_option(words):
    (section,) = [section for section in SECTIONS if section.startswith(f"`{words}")]
    told = set(re.findall(r"`(--[a-z-]+)", section + SHARED))
    options = {option for param in COMMANDS[words].params for option in param.opts if option.startswith("--")}
    assert options - {"--help"} <= told


def test_the_reference_tells_of_nothing_else():
    told = {re.match(r"`([a-z ]+?) ?[A-Z]*`", section)[1] for section in SECTIONS}
    assert told == set(COMMANDS)


def test_the_demo_of_the_laboratory_takes_the_same_options():
    ours, theirs = ROOT.commands["demo"], ROOT.get_command(None, "demo")
    assert ours is not theirs
    assert [param.opts for param in ours.params] == [param.opts for param in theirs.params]
    assert ours.short_help == theirs.short_help
