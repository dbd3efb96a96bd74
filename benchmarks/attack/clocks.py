"""A clock that jumps forwards and backwards, also to the ends of the calendar, while jobs and writes go on."""

from __future__ import annotations

import asyncio
import random
import traceback
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.attack.answers import make_model
from benchmarks.attack.bank_model import FolderModel
from benchmarks.attack.inspection import check_folder
from benchmarks.attack.memories import open_memory
from benchmarks.attack.operations import Chooser
from benchmarks.attack.processes import Tell, Work, run_children
from benchmarks.attack.rounds import BEGAN, perform, settle
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect.errors import InvalidInput, RecollectError

_JUMPS_S = (-86_400 * 365, -3_600, -1, 0, 1, 60, 3_600, 86_400 * 400)
_ENDS = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
)
_MOST = 150


class Clocks:
    """Operations and jobs whose clock jumps between any two of them. In the end, every job has to be done."""

    name = "clocks"
    share = Budget(operations=3)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        while tally.operations < budget.operations:
            tally += _jump(rng.randrange(2**32), folder)
        return tally


def _jump(seed: int, folder: Path) -> Tally:
    model, at = FolderModel(), folder / str(seed)
    jumps = _Jumps(folder=at, seed=seed)
    (outcome,) = run_children([Work(do=jumps.do)])
    settled = settle(outcome, model, seed, explained=lambda refusal: InvalidInput.__name__ in refusal)
    findings = check_folder(at, model, [], seed)
    for broken in (Broken.STUCK, Broken.TRACEBACKS):
        findings += [Finding(broken=broken, seed=seed, what=what) for what in outcome.values(broken.value)]
    return settled.tally + Tally(findings=tuple(findings))


@dataclass(slots=True)
class _Jumps:
    folder: Path
    seed: int
    now: datetime = field(default_factory=lambda: datetime(2025, 1, 1, tzinfo=UTC))

    def do(self, tell: Tell) -> None:
        asyncio.run(self._do(tell))

    async def _do(self, tell: Tell) -> None:
        rng, model = random.Random(self.seed), FolderModel()
        chooser = Chooser(rng=rng, own="k", banks=("one", "two"))
        async with open_memory(self.folder, recipe="hindsight", model=make_model(), clock=lambda: self.now) as memory:
            for number in range(_MOST):
                self._move(rng)
                operation = chooser.choose(model)
                tell(BEGAN, operation)
                try:
                    if await perform(operation, memory, tell) and operation.effect is not None:
                        model.apply(operation.effect)
                    if number % 10 == 0:
                        await (await memory.bank(operation.bank)).run_jobs()
                except RecollectError:
                    pass
                except Exception as exc:
                    what = f"at {self.now}: {''.join(traceback.format_exception(exc))[-1500:]}"
                    tell(Broken.TRACEBACKS.value, what)
            for name in await memory.banks():
                bank = await memory.bank(name)
                for _ in range(5):
                    self.now = datetime(2500, 1, 1, tzinfo=UTC) + timedelta(days=2 * _)
                    await bank.run_jobs()
                if left := await bank.jobs():
                    tell(
                        Broken.STUCK.value,
                        f"jobs that never end: {[(one.kind, one.state, one.error) for one in left][:3]}",
                    )

    def _move(self, rng: random.Random) -> None:
        if rng.random() < 0.05:
            self.now = rng.choice(_ENDS)
            return
        try:
            self.now += timedelta(seconds=rng.choice(_JUMPS_S))
        except OverflowError:
            self.now = datetime(2025, 1, 1, tzinfo=UTC)
