"""Rounds: a child does operations until it is killed or has done enough, and then somebody looks at the folder."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.attack.answers import make_model
from benchmarks.attack.bank_model import Effect, FolderModel
from benchmarks.attack.memories import DIMENSION, open_memory
from benchmarks.attack.operations import Broke, Chooser, Operation
from benchmarks.attack.processes import Event, Kill, Outcome, Tell
from benchmarks.attack.scenario import Broken, Finding, Tally
from recollect import Memory
from recollect.errors import RecollectError

BEGAN, DONE, BROKE, REFUSED, COMMITS, AIMED = "began", "done", "broke", "refused", "commits", "aimed"

_COMMITS = ("COMMIT", "BEGIN", "VACUUM", "PRAGMA wal_checkpoint", "PRAGMA secure_delete", "PRAGMA user_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """When a child is to be killed: in an operation of a ``kind``, after ``ordinary`` other operations.

    The kill comes at the ``statement``-th statement around a commit, or, if that is ``None``, at any moment.
    """

    kind: str
    ordinary: int
    statement: int | None
    kill: Kill


def draw_aim(rng: random.Random, kind: str) -> Aim:
    """Return a moment for a kill."""
    way, ordinary = rng.random(), rng.randrange(30)
    if way < 0.05:  # while the folder is opened
        return Aim(kind=kind, ordinary=ordinary, statement=None, kill=Kill(after_s=rng.uniform(0, 0.02)))
    if way < 0.4:
        kill = Kill(after_s=rng.uniform(0, 0.03), trigger=AIMED)
        return Aim(kind=kind, ordinary=ordinary, statement=None, kill=kill)
    kill = Kill(after_s=rng.choice((0.0, rng.uniform(0, 0.003))), trigger=COMMITS)
    return Aim(
        kind=kind, ordinary=ordinary, statement=rng.randrange(1, 40 if kind in ("import", "restore") else 12), kill=kill
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a child does in a round: operations, until it is killed or has done ``most`` of them."""

    folder: Path
    chooser: Chooser
    model: FolderModel
    most: int = 80
    dimension: int = DIMENSION
    aim: Aim | None = None

    def do(self, tell: Tell) -> None:
        """Do the round. Call it in a child."""
        asyncio.run(self._do(tell, StatementTrace(tell) if self.aim is not None and self.aim.statement else None))

    async def _do(self, tell: Tell, trace: StatementTrace | None) -> None:
        memory = open_memory(self.folder, dimension=self.dimension)
        if self.chooser.has_model:
            memory = open_memory(self.folder, dimension=self.dimension, recipe="hindsight", model=make_model())
        async with memory:
            for number in range(self.most):
                aimed = self.aim is not None and number >= self.aim.ordinary
                operation = self.chooser.choose(self.model, self.aim.kind if self.aim and aimed else None)
                tell(BEGAN, operation)
                if aimed:
                    tell(AIMED, None)
                    if trace is not None and self.aim is not None:
                        trace.arm(self.aim.statement)
                if await perform(operation, memory, tell) and operation.effect is not None:
                    self.model.apply(operation.effect)


async def perform(operation: Operation, memory: Memory, tell: Tell) -> bool:
    """Perform an operation and report its end. Return false if it was refused."""
    try:
        await operation.perform(memory)
    except Broke as exc:
        tell(BROKE, str(exc))
    except RecollectError as exc:
        tell(REFUSED, f"{operation.kind}: {type(exc).__name__}: {exc} {_name_cause(exc)}")
        return False
    tell(DONE, None)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the reports of a child say. ``doubtful`` is the effect of the operation that was interrupted."""

    tally: Tally
    doubtful: Effect | None = None


def settle(
    outcome: Outcome, model: FolderModel, seed: int, explained: Callable[[str], bool] = lambda _: False
) -> Settled:
    """Bring the model up to date with what a child was told is done, and count it.

    ``explained`` returns true for a refusal that the scenario expects. A refused operation has no effect.
    """
    findings, pending, done = outcome.findings(seed), None, 0
    kinds: Counter[str] = Counter()
    for event in outcome.events:
        match event.name:
            case "began":
                pending = event.value
            case "broke":
                findings.append(_broken_read(event, seed))
            case "refused":
                if not explained(event.value):
                    findings.append(Finding(broken=Broken.UNEXPLAINED, seed=seed, what=event.value))
                pending, done = None, done + 1
            case "done":
                if pending is not None and pending.effect is not None:
                    model.apply(pending.effect)
                pending, done = None, done + 1
    if outcome.killed and pending is not None:
        kinds[f"killed in {pending.kind}"] += 1
    tally = Tally(kills=int(outcome.killed), operations=done, findings=tuple(findings), details=kinds)
    return Settled(tally=tally, doubtful=None if pending is None else pending.effect)


def _broken_read(event: Event, seed: int) -> Finding:
    words = str(event.value)
    if "forgotten" in words or words.startswith("forget"):
        return Finding(broken=Broken.LEFT, seed=seed, what=words)
    return Finding(broken=Broken.LOST, seed=seed, what=words)


def effects_of(settled: Sequence[Settled]) -> list[Effect]:
    return [one.doubtful for one in settled if one.doubtful is not None]


def pending_operation(outcome: Outcome) -> Operation | None:
    """Return the operation that a child had begun and not ended."""
    names = [event.name for event in outcome.events]
    began: list[Any] = outcome.values(BEGAN)
    return began[-1] if names.count(BEGAN) > names.count(DONE) + names.count(REFUSED) else None


class StatementTrace:
    """Reports when a connection is about to run a statement around a commit, once."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._left, self._connect = tell, -1, sqlite3.connect
        sqlite3.connect = self._connected  # type: ignore[assignment]  # what the library uses of it is the same

    def arm(self, statement: int | None) -> None:
        """Count the statements from now on, and report the one of this number. A second call has no effect."""
        if self._left == -1:
            self._left = statement or 0

    def _watch(self, statement: str) -> None:
        if self._left > 0 and statement.lstrip().startswith(_COMMITS):
            self._left -= 1
            if not self._left:
                self._tell(COMMITS, None)

    def _connected(self, *given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = self._connect(*given, **named)
        connection.set_trace_callback(self._watch)
        return connection


def _name_cause(exc: BaseException) -> str:
    """Return the name of SQLite's error behind an error, if there is one."""
    return str(getattr(exc.__cause__, "sqlite_errorname", ""))
