"""One process drops a bank while others write to it: what is acknowledged after the drop is in the new bank."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.attack.inspection import look_into
from benchmarks.attack.material import make_said
from benchmarks.attack.memories import open_memory
from benchmarks.attack.processes import Event, Outcome, Tell, Work, call_in_child, run_children
from benchmarks.attack.rounds import BEGAN, DONE
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect.errors import RecollectError

_BANK = "contested"
_WRITERS = 2
_MOST = 25


class Drops:
    """Two processes retain messages in a bank that a third one drops again and again."""

    name = "drops"
    share = Budget(operations=3)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        while tally.operations < budget.operations:
            number = rng.randrange(2**32)
            tally += _contest(number, folder / str(number))
        return tally


def _contest(seed: int, folder: Path) -> Tally:
    writers = [Work(do=_make_writer(seed + number, folder)) for number in range(_WRITERS)]
    *written, dropped = run_children([*writers, Work(do=_make_dropper(seed, folder))])
    findings = [finding for outcome in (*written, dropped) for finding in outcome.findings(seed)]
    seen, look = call_in_child(lambda: look_into(folder))
    findings += look.findings(seed)
    operations = sum(len(outcome.values(DONE)) for outcome in (*written, dropped))
    if seen is not None:
        there = seen.banks.get(_BANK, {})
        drops = _spans(dropped)
        for id_, began, done in (one for outcome in written for one in _spans(outcome)):
            findings += _judge(id_, began, done, id_ in there, drops, seed)
        findings += [Finding(broken=Broken.LOST, seed=seed, what=problem) for problem in seen.problems]
    return Tally(operations=operations, findings=tuple(findings))


def _judge(
    id_: str, began: float, done: float, there: bool, drops: list[tuple[str, float, float]], seed: int
) -> list[Finding]:
    """Compare a message with the drops. One that began after the last drop stays, one before the last drop goes."""
    if not there and all(drop_done < began for _, _, drop_done in drops):
        what = f"{id_} was acknowledged {began - max((one[2] for one in drops), default=0):.3f} s after the last drop"
        return [Finding(broken=Broken.LOST, seed=seed, what=what)]
    if there and any(done < drop_began for _, drop_began, _ in drops):
        return [Finding(broken=Broken.LEFT, seed=seed, what=f"{id_} is there, and was dropped")]
    return []


def _spans(outcome: Outcome) -> list[tuple[str, float, float]]:
    """Return what a process was told is done: a name, and the times at which it began and ended."""
    spans, began = [], None
    for event in outcome.events:
        if event.name == BEGAN:
            began = event
        elif event.name == DONE and isinstance(began, Event):
            spans.append((str(began.value), began.at, event.at))
    return spans


def _make_writer(seed: int, folder: Path) -> Callable[[Tell], None]:
    async def write(tell: Tell) -> None:
        rng = random.Random(seed)
        async with open_memory(folder) as memory:
            for _ in range(_MOST):
                said = make_said(rng, f"k-{seed}")
                tell(BEGAN, said.id)
                try:
                    await (await memory.bank(_BANK)).retain(said.to_message(), session=said.session)
                except RecollectError:  # it is not acknowledged
                    continue
                tell(DONE, None)
                await asyncio.sleep(rng.uniform(0, 0.01))

    return lambda tell: asyncio.run(write(tell))


def _make_dropper(seed: int, folder: Path) -> Callable[[Tell], None]:
    async def drop(tell: Tell) -> None:
        rng = random.Random(seed)
        async with open_memory(folder) as memory:
            for number in range(rng.randrange(1, 5)):
                await asyncio.sleep(rng.uniform(0, 0.15))
                tell(BEGAN, f"drop {number}")
                try:
                    await memory.drop(_BANK)
                except RecollectError:
                    continue
                tell(DONE, None)

    return lambda tell: asyncio.run(drop(tell))
