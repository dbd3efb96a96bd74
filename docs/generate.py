"""Write the parts of docs/reference that must match the code.

``api.md`` is written from the docstrings of the public names. The tables of options in ``cli.md`` and ``cli-lab.md``
are written from the help texts of the commands. The page of the laboratory is skipped if it is not installed.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ForwardRef, is_typeddict

import typer.main

import recollect
from recollect import cli, errors
from recollect.domain import (
    answers,
    banks,
    changes,
    entities,
    facts,
    items,
    jobs,
    limits,
    messages,
    opinions,
    queries,
    recalls,
    receipts,
    signals,
    time,
    usage,
)
from recollect.memory import query_options
from recollect.methods.default import routing
from recollect.methods.emem import assistants
from recollect.methods.hindsight import opinions as hindsight_opinions
from recollect.methods.memr3 import trace
from recollect.methods.remem import observations
from recollect.models import embedder, language, reranker, time_reader
from recollect.models.languages.settings import CallSettings
from recollect.recall import settings
from recollect.recipes import Recipe
from recollect.worker import WorkerSettings

_ROLE = re.compile(r":\w+:`~?([^`]+)`")

REFERENCE = Path(__file__).parent / "reference"
API, CLI, LAB = REFERENCE / "api.md", REFERENCE / "cli.md", REFERENCE / "cli-lab.md"
LAB_COMMANDS = ("eval", "recordings")
SHARED_OPTIONS = (
    "--store", "--bank", "--json", "--yes", "--embedder", "--reranker", "--recipe", "--model", "--zone",
)  # fmt: skip
_TABLE = re.compile(r"^\| option \| \|\n\|---\|---\|\n(?:\|.*\n)*", re.M)
_HEADING = re.compile(r"`recollect ([a-z ]+[a-z])")
SECTIONS = (
    ("Memory", (recollect.Memory,)),
    ("Bank", (recollect.Bank,)),
    (
        "Messages and time",
        (messages.Message, messages.StoredMessage, messages.Role, changes.Session, time.Interval, time.Precision),
    ),
    ("Recall", (recalls.Recall, recalls.Evidence, recalls.ArmRank, recalls.RecallReceipt, recalls.ArmReport)),
    ("Facts", (facts.Fact, receipts.FactsReceipt)),
    ("Receipts", (receipts.RetainReceipt, receipts.ForgetReceipt, receipts.BackupReceipt, banks.BankInfo)),
    ("Answers", (answers.Answer, answers.Citation, answers.AnswerReceipt, query_options.RecallOptions)),
    ("Steps to an answer", (answers.TraceStep, answers.Step, answers.TraceLine)),
    (
        "Steps of the recipes",
        (
            routing.RouteTaken,
            routing.Route,
            routing.RouteReason,
            assistants.SegmentReading,
            observations.ToolUse,
            hindsight_opinions.OpinionChange,
        ),
    ),
    (
        "Loops",
        (
            trace.LoopTrace,
            trace.LoopRound,
            trace.LoopConclusion,
            trace.TrackerState,
            trace.Finding,
            trace.Gap,
            trace.Snippet,
            trace.LoopDecision,
            trace.DecisionReason,
        ),
    ),
    ("Profiles", (banks.Profile, banks.Disposition)),
    ("Opinions", (opinions.Opinion, opinions.OpinionStep, opinions.Assessment)),
    ("Background work", (jobs.JobRecord, jobs.JobState, WorkerSettings)),
    ("Costs and limits", (usage.Cost, usage.Usage, limits.Limit, limits.Period)),
    ("Items and entities", (items.Item, items.ItemKind, items.Network, entities.Entity, entities.Merge)),
    ("Settings of a recall", (settings.RecallSettings, signals.Weights, signals.Signals, queries.Effort)),
    ("Recipes", (Recipe,)),
    ("Seams", (embedder.Embedder, reranker.Reranker, time_reader.TimeReader)),
    (
        "The seam to language models",
        (language.LanguageModel, language.Prompt, language.ModelRole, language.Reply, CallSettings),
    ),
)


def page() -> str:
    """Return the whole page as Markdown."""
    parts = ["# API reference", "", "Written by `make docs` from the docstrings; do not edit.", ""]
    for title, kinds in SECTIONS:
        parts += [f"## {title}", ""]
        for kind in kinds:
            parts += described(kind)
    parts += ["## Errors", "", "```text", inspect.getdoc(errors) or "", "```", ""]
    return "\n".join(parts)


def described(kind: type) -> list[str]:
    """Return the description of a class, with its fields or members and its public methods."""
    parts = [f"### `{kind.__name__}`", "", _doc(kind), ""]
    if issubclass(kind, Enum):
        parts += [", ".join(f"`{member.value}`" for member in kind), ""]
    elif is_typeddict(kind):
        return [*parts, *(f"- `{name}: {_type(hint)}`" for name, hint in kind.__annotations__.items()), ""]
    elif is_dataclass(kind):
        parts += [f"- `{field.name}: {field.type}`" for field in fields(kind)] + [""]
    if not is_dataclass(kind) and not issubclass(kind, Enum):
        for name, method in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_"):
                parts += [f"#### `{kind.__name__}.{name}`", "", *_signature(name, method), _doc(method), ""]
    return parts


def _type(hint: object) -> str:
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else str(hint)


def _signature(name: str, method: Callable[..., object]) -> list[str]:
    """Return a method's signature as a block of code. Types are shown as they are written."""
    text = str(inspect.signature(method)).replace("'", "").replace("(self, ", "(").replace("(self)", "()")
    text = re.sub(r"<function (\w+) at 0x\w+>", r"\1", text)
    lead = "async def" if inspect.iscoroutinefunction(method) else "def"
    return ["```text", f"{lead} {name}{text}", "```", ""]


def _doc(thing: object) -> str:
    """Return a docstring as Markdown. Sections become bold words, each with a list."""
    lines, listing = [], False
    for line in (inspect.getdoc(thing) or "").splitlines():
        if line in ("Args:", "Raises:"):
            lines += [f"**{line}**", ""]
            listing = True
        elif listing and line.startswith("    ") and not line.startswith("     "):
            name, _, rest = line.strip().partition(": ")
            lines.append(f"- `{name}`: {_marked(rest)}")
        elif listing and line.startswith("     "):
            lines[-1] += " " + _marked(line.strip())
        else:
            listing = listing and bool(line.strip())
            lines.append(_marked(line))
    return "\n".join(lines)


def _marked(text: str) -> str:
    """Return text in which Sphinx's markup is replaced with Markdown's."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


def option_pages() -> dict[Path, str]:
    """Return the pages on commands with new tables of options."""
    root = typer.main.get_command(cli.app)
    ours = dict(_commands(root))
    pages = {CLI: _with_tables(CLI.read_text("utf-8"), ours, _shared_options(ours))}
    if importlib.util.find_spec("recollect_lab") is not None:
        lab = {words: one for name in LAB_COMMANDS for words, one in _commands(root.get_command(None, name), (name,))}
        pages[LAB] = _with_tables(LAB.read_text("utf-8"), lab, _shared_options(ours))
    return pages


def _commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command with its words, groups left out."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


def _shared_options(commands: dict[str, Any]) -> dict[str, str]:
    """Return the rows of the options that many commands share. The most frequent help text of an option counts."""
    rows = Counter(row for command in commands.values() for row in _rows(command))
    found: dict[str, str] = {}
    for name in SHARED_OPTIONS:
        found[name] = next(row for row, _ in rows.most_common() if row.startswith(f"| `{name}`"))
    return found


def _with_tables(page: str, commands: dict[str, Any], shared: dict[str, str]) -> str:
    """Return a page in which the table of each command has all its options, except those that all commands share."""
    sections = page.split("\n## ")
    for at, section in enumerate(sections):
        heading = _HEADING.match(section)
        if section.startswith("For every command"):
            sections[at] = _replace_table(section, [*shared.values(), "| `--help` | Show the options of a command. |"])
        elif heading is not None and heading[1] in commands:
            own = [row for row in _rows(commands[heading[1]]) if row not in shared.values()]
            sections[at] = _replace_table(section, own)
    return "\n## ".join(sections)


def _replace_table(section: str, rows: list[str]) -> str:
    """Return a section with these rows in its table of options.

    Raises:
        ValueError: there are rows and no table, or the other way round.
    """
    table = _TABLE.search(section)
    if (table is None) is bool(rows):
        raise ValueError(f"a table of options is missing, or has no rows any more: {section.splitlines()[0]}")
    if table is None:
        return section
    return "\n".join([section[: table.start()] + "| option | |", "|---|---|", *rows, section[table.end() :]])


def _rows(command: Any) -> Iterator[str]:
    """Yield the row of each option of a command."""
    for param in command.params:
        if param.param_type_name == "option":
            default = param.default
            shown = default is not None and default is not False and "Default:" not in param.help
            told = f"{param.help} Default: {default}." if shown else param.help
            yield f"| `{param.opts[0]}`{f' {param.metavar}' if param.metavar else ''} | {told} |"


def pages() -> dict[Path, str]:
    """Return all pages that are written here."""
    return {API: page(), **option_pages()}


if __name__ == "__main__":
    made = pages()
    if "--check" in sys.argv:
        sys.exit(any(path.read_text("utf-8") != text for path, text in made.items()))
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        path.write_text(text, "utf-8")
