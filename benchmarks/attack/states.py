"""Long sequences of operations without a kill, each held against the plain model.

Time goes on by a minute with each operation, so that the model also knows what a bank has to answer ``as_of`` a moment.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.attack.bank_model import FolderModel
from benchmarks.attack.inspection import check_folder
from benchmarks.attack.memories import open_memory
from benchmarks.attack.operations import Broke, Chooser, Operation, open_bank
from benchmarks.attack.processes import Tell, Work, run_children
from benchmarks.attack.rounds import BEGAN, perform, settle
from benchmarks.attack.scenario import Budget, Tally
from recollect import Memory

_START = datetime(2025, 1, 1, tzinfo=UTC)
_MOST = 1_000
_WEIGHTS = {
    "retain": 4.0,
    "recall": 5.0,
    "read": 14.0,
    "forget": 0.8,
    "rebuild": 0.1,
    "drop": 0.05,
    "import": 0.1,
    "restore": 0.1,
}


class States:
    """A sequence of operations in a folder, with a look at all files in the end."""

    name = "states"
    share = Budget()

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        while tally.operations < budget.operations:
            number = rng.randrange(2**32)
            most = min(_MOST, budget.operations - tally.operations)
            tally += _round(number, folder / str(number), most)
        return tally


def _round(seed: int, folder: Path, most: int) -> Tally:
    model = FolderModel()
    sequence = _Sequence(folder=folder, seed=seed, most=most)
    (outcome,) = run_children([Work(do=sequence.do)])
    settled = settle(outcome, model, seed)
    return settled.tally + Tally(findings=tuple(check_folder(folder, model, [], seed)))


@dataclass(slots=True)
class _Sequence:
    folder: Path
    seed: int
    most: int
    number: int = 0
    recorded: dict[tuple[str, str], datetime] = field(default_factory=dict)

    def do(self, tell: Tell) -> None:
        asyncio.run(self._do(tell))

    def _now(self) -> datetime:
        return _START + timedelta(minutes=self.number)

    async def _do(self, tell: Tell) -> None:
        rng, model = random.Random(self.seed), FolderModel()
        chooser = Chooser(
            rng=rng,
            own="k",
            banks=("one", "two", "three"),
            weights=_WEIGHTS,
            backups=self.folder.with_name(f"{self.folder.name}-backups"),
        )
        async with open_memory(self.folder, clock=self._now) as memory:
            for _ in range(self.most):
                self.number += 1
                operation = self._as_of(rng, model) if rng.random() < 0.1 else chooser.choose(model)
                tell(BEGAN, operation)
                if await perform(operation, memory, tell) and operation.effect is not None:
                    self._record(operation, model)
                    model.apply(operation.effect)

    def _record(self, operation: Operation, model: FolderModel) -> None:
        """Remember when each message was recorded. An import keeps the times of its source."""
        effect = operation.effect
        for said in () if effect is None else effect.adds.values():
            source = getattr(operation, "source", None)
            now = self._now() if source is None else self.recorded[source, said.token]
            self.recorded[operation.bank, said.token] = now

    def _as_of(self, rng: random.Random, model: FolderModel) -> Operation:
        there = [(name, one.token) for name, bank in model.banks.items() for one in bank.said.values()]
        if not there:
            return Chooser(rng=rng, own="k", banks=("one",)).choose(model)
        bank, token = rng.choice(there)
        recorded = self.recorded[bank, token]
        moment = recorded + timedelta(minutes=rng.choice((-30, -1, 0, 1, 30)))
        return RecallAsOf(bank=bank, token=token, moment=moment, there=moment >= recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAsOf:
    """Recall a message as of a moment. It has to be found if it was recorded by then."""

    bank: str
    token: str
    moment: datetime
    there: bool
    kind: str = "recall as of"
    effect: None = None

    async def perform(self, memory: Memory) -> None:
        bank = await open_bank(memory, self.bank)
        found = await bank.recall(self.token, limit=10_000, max_tokens=None, as_of=self.moment)
        held = any(self.token in evidence.text for evidence in found.evidence)
        if held != self.there:
            raise Broke(f"recall as of {self.moment} {'finds' if held else 'misses'} the message with {self.token}")
