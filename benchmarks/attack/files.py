"""Feed damaged and hostile files to everything that reads a file."""

from __future__ import annotations

import asyncio
import json
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.attack.material import make_said
from benchmarks.attack.memories import open_memory
from benchmarks.attack.processes import Tell, Work, run_children
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect import Memory, Message
from recollect.errors import RecollectError
from recollect.formats import Format, read_messages

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_FILES_PER_CHILD = 300
_BOUND_S = 30.0
_NUMBERS = (0, -1, 10**400, 1.5, float("nan"), float("inf"), -(2**63), 2**63)
_TIMES = ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "2024-02-30", "2024-03-31T02:30:00")
_TEXTS = ("", " ", "\0", "\ud800", "ı", *_TIMES)
_VALUES: tuple[Any, ...] = (None, True, *_NUMBERS, *_TEXTS, [], {}, [[]], {"a": {"b": []}}, ["x"] * 50)
_INSERTED = ("\0", "\ud800", '"', "{", "[" * 2_000, "«" * 200, "\r", "\u2028", "\ufeff", "9" * 5_000)


class Files:
    """Fuzzed JSON Lines, OpenAI documents, chat texts and exports of a bank."""

    name = "files"
    share = Budget(operations=6)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        while tally.operations < budget.operations:
            feed = _Feed(seed=rng.randrange(2**32), most=min(_FILES_PER_CHILD, budget.operations - tally.operations))
            (outcome,) = run_children([Work(do=feed.do)], bound_s=_BOUND_S)
            findings = outcome.findings(feed.seed)
            findings += [
                Finding(broken=Broken.TRACEBACKS, seed=feed.seed, what=what) for what in outcome.values("escaped")
            ]
            tally += Tally(operations=len(outcome.values("done")), findings=tuple(findings))
            if not outcome.values("done"):
                break
        return tally


@dataclass(frozen=True, slots=True, kw_only=True)
class _Feed:
    """Feeds ``most`` damaged files to a memory, one after another."""

    seed: int
    most: int

    def do(self, tell: Tell) -> None:
        asyncio.run(self._do(tell))

    async def _do(self, tell: Tell) -> None:
        rng = random.Random(self.seed)
        async with open_memory(":memory:") as memory:
            export = await _make_export(memory, rng)
            for number in range(self.most):
                kind = rng.choice(("jsonl", "openai", "chat", "export", "export"))
                lines = damage_lines(rng, export if kind == "export" else make_lines(rng, kind))
                try:
                    await (_import(memory, lines) if kind == "export" else _retain(memory, lines, kind, rng))
                except RecollectError:
                    pass
                except Exception as exc:
                    where = traceback.extract_tb(exc.__traceback__)[-1]
                    what = f"{kind}: {type(exc).__name__}: {exc} in {where.name} ({where.filename}:{where.lineno})"
                    tell("escaped", f"{what}, file {number}")
                tell("done", None)


async def _make_export(memory: Memory, rng: random.Random) -> list[str]:
    whole = await memory.bank("whole")
    for number in range(6):
        said = [make_said(rng, f"k-{number}") for _ in range(3)]
        await whole.retain([one.to_message() for one in said], session=f"k-{number}")
    return [line async for line in whole.export()]


async def _import(memory: Memory, lines: list[str]) -> None:
    """Import the lines and use the bank, so that a value that was let in shows what it does."""
    await memory.import_bank("fed", lines)
    try:
        bank = await memory.bank("fed")
        await bank.recall("river")
        await bank.retain(Message(text="Ada saw the river", speaker="Ada"), session="k-1")
        async for _ in bank.export():
            pass
    finally:
        await memory.drop("fed")


async def _retain(memory: Memory, lines: list[str], kind: str, rng: random.Random) -> None:
    read = list(read_messages(lines, format=rng.choice((None, Format(kind))), now=_NOW))[:20]
    if read:
        await (await memory.bank("all")).retain([one.message for one in read], session="s")


def make_lines(rng: random.Random, kind: str) -> list[str]:
    """Return the lines of a file of a format: jsonl, openai or chat."""
    said = [make_said(rng, f"k-{number % 2}") for number in range(rng.randrange(1, 6))]
    if kind == "jsonl":
        return [
            json.dumps(
                {
                    "session": one.session,
                    "speaker": one.speaker,
                    "text": one.text,
                    "at": one.at.isoformat(),
                    "id": one.id,
                }
            )
            for one in said
        ]
    if kind == "openai":
        return [json.dumps([{"role": rng.choice(("user", "assistant", "tool")), "content": one.text} for one in said])]
    return [f"{one.speaker} ({one.at:%Y-%m-%d %H:%M}): {one.text}" for one in said]


def damage_lines(rng: random.Random, lines: list[str]) -> list[str]:
    """Return the lines with a few of them damaged."""
    damaged = list(lines)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if not damaged:
            break
        at = rng.randrange(len(damaged))
        damaged[at : at + 1] = rng.choice(_LINE_WAYS)(rng, damaged[at])
    return damaged


def _replace_value(rng: random.Random, line: str) -> list[str]:
    """Replace a value anywhere in a JSON document."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return [line]
    places: list[tuple[Any, Any]] = []
    _list_places(document, places)
    if places:
        holder, key = rng.choice(places)
        if rng.random() < 0.2:
            del holder[key]
        else:
            holder[key] = rng.choice(_VALUES)
    return [json.dumps(document)]


def _list_places(value: Any, places: list[tuple[Any, Any]]) -> None:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        places.append((value, key))
        _list_places(value[key], places)


def _cut(rng: random.Random, line: str) -> list[str]:
    return [line[: rng.randrange(len(line) + 1)]]


def _insert(rng: random.Random, line: str) -> list[str]:
    at = rng.randrange(len(line) + 1)
    return [line[:at] + rng.choice(_INSERTED) + line[at:]]


def _repeat(rng: random.Random, line: str) -> list[str]:
    return [line] * rng.choice((0, 2, 3))


def _nest(rng: random.Random, line: str) -> list[str]:
    depth = rng.choice((10, 1_000, 100_000))
    return [rng.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth))]


_LINE_WAYS: tuple[Callable[[random.Random, str], list[str]], ...] = (
    _replace_value, _replace_value, _replace_value, _cut, _insert, _repeat, _nest,
)  # fmt: skip
