"""Write docs/reference/api.md from the docstrings of the public names, so that the page always matches the code."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import ForwardRef, is_typeddict

import recollect
from recollect import errors
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

PAGE = Path(__file__).parent / "reference" / "api.md"
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


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text("utf-8") != page())
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), "utf-8")
