"""Commands of other packages, and what is said where the laboratory is not installed."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from recollect.cli import app, plugins
from recollect.errors import StoreUnavailable

greet = typer.Typer()


@greet.command(short_help="Say hello.")
def say_hello(name: str, loud: bool = typer.Option(False, "--loud")) -> None:
    typer.echo(f"hello {name.upper() if loud else name}")


several = typer.Typer(help="Two commands.")


@several.command()
def first() -> None:
    raise StoreUnavailable("the disk is full")


@several.command()
def second() -> None:
    typer.echo("second")


def not_a_typer() -> None: ...


@pytest.fixture
def installed(monkeypatch):
    """Let these commands be all that other packages add: names with what the entry points lead to."""

    def install(**commands):
        points = [EntryPoint(name=name, value=value, group=plugins.GROUP) for name, value in commands.items()]
        monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])

    return install


def ran(*args):
    return CliRunner().invoke(app, list(args))


def listed(text):
    """The names of the commands that the help lists."""
    lines = text.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    return {line.split()[0] for line in lines if line[2] != " "}


def test_a_typer_with_one_command_becomes_that_command(installed):
    installed(greet=f"{__name__}:greet")
    assert ran("greet", "Ada", "--loud").stdout == "hello ADA\n"
    shown = ran("--help").stdout
    assert "greet" in listed(shown)
    assert "Say hello." in shown
    assert " greet [OPTIONS] " in ran("greet", "--help").stdout


def test_a_typer_with_several_becomes_a_group_and_its_errors_are_one_line(installed):
    installed(pair=f"{__name__}:several")
    assert ran("pair", "second").stdout == "second\n"
    assert "Two commands." in ran("--help").stdout
    failed = ran("pair", "first")
    assert (failed.exit_code, failed.stderr) == (1, "error: the disk is full\n")


def test_a_command_of_ours_cannot_be_replaced(installed):
    installed(banks=f"{__name__}:greet")
    assert "List the banks" in ran("banks", "--help").stdout
    assert ran("--help").stdout.count("  banks ") == 1


@pytest.mark.parametrize("value", ["nowhere_at_all:app", f"{__name__}:missing", f"{__name__}:not_a_typer"])
def test_a_command_that_cannot_be_loaded_says_so_and_leaves_the_others_alone(installed, value):
    installed(broken=value, greet=f"{__name__}:greet")
    assert {"broken", "greet", "recall"} <= listed(ran("--help").stdout)
    assert ran("greet", "Bram").stdout == "hello Bram\n"
    failed = ran("broken", "with", "--any", "arguments")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("error: the command broken of an unknown package cannot be loaded: ")
    assert failed.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("eval", "retrieval", "--data", "x.json"), "recollect eval"),
        (("recordings", "check", "default"), "recollect recordings"),
        (("demo", "--all"), "recollect demo --all"),
        (("demo", "--recipe", "default"), "recollect demo --recipe"),
    ],
)
def test_without_the_laboratory_its_commands_say_what_to_install(installed, command, what):
    installed()
    failed = ran(*command)
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert failed.stderr == f"error: {what} needs the laboratory; run: pip install recollect-lab\n"


def test_without_the_laboratory_the_help_lists_its_commands_with_what_they_need(installed):
    installed()
    shown = ran("--help").stdout
    assert {"demo", "eval", "recordings"} <= listed(shown)
    assert shown.count("needs recollect-lab") == 2
    assert "pip install recollect-lab" in ran("eval", "--help").stdout


def test_entry_points_are_not_looked_up_for_a_command_of_ours():
    code = (
        "from recollect.cli import plugins, app\n"
        "def looked(group): raise AssertionError(group)\n"
        "plugins.entry_points = looked\n"
        "app(['recall', '--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
