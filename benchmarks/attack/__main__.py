"""``python -m benchmarks.attack --kills N --operations N --seed S --json``"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attack.bank_model import FolderModel
from benchmarks.attack.clocks import Clocks
from benchmarks.attack.commands import Commands
from benchmarks.attack.damage import Damage
from benchmarks.attack.drops import Drops
from benchmarks.attack.files import Files
from benchmarks.attack.jobs import Jobs
from benchmarks.attack.kills import Kills
from benchmarks.attack.memories import open_memory
from benchmarks.attack.operations import Chooser
from benchmarks.attack.scenario import Broken, Budget, Scenario, Tally
from benchmarks.attack.servers import Servers
from benchmarks.attack.several import Several
from benchmarks.attack.states import States

SCENARIOS: tuple[Scenario, ...] = (
    Kills(),
    Jobs(),
    Several(),
    Drops(),
    Damage(),
    Files(),
    Commands(),
    Servers(),
    Clocks(),
    States(),
)
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """The tallies of the scenarios, and the seconds that each took."""

    seed: int
    tallies: Mapping[str, Tally]
    seconds: Mapping[str, float]

    @property
    def total(self) -> Tally:
        return sum(self.tallies.values(), Tally())

    def to_json(self) -> str:
        """Return one JSON object."""
        findings = [
            {"scenario": name, "broken": finding.broken, "seed": finding.seed, "what": finding.what}
            for name, tally in self.tallies.items()
            for finding in tally.findings
        ]
        by = {name: _count(tally) | dict(tally.details) for name, tally in self.tallies.items()}
        return json.dumps({"seed": self.seed, **_count(self.total), "by_scenario": by, "findings": findings}, indent=1)

    def to_table(self) -> str:
        """Return a table with a line for each scenario, and the first findings below it."""
        heads: list[object] = ["", *_count(Tally()), "seconds"]
        rows: list[list[object]] = [
            [name, *_count(tally).values(), round(self.seconds[name])] for name, tally in self.tallies.items()
        ]
        rows.append(["total", *_count(self.total).values(), round(sum(self.seconds.values()))])
        lines = ["".join(f"{cell!s:>13}" for cell in row) for row in [heads, *rows]]
        lines += [
            f"{name}: {what}: {count}" for name, tally in self.tallies.items() for what, count in tally.details.items()
        ]
        shown = [(name, finding) for name, tally in self.tallies.items() for finding in tally.findings]
        lines += [f"{name}, seed {one.seed}: {one.broken}: {_shorten(one.what)}" for name, one in shown[:_MOST_SHOWN]]
        return "\n".join(lines)


def run_attack(scenarios: Sequence[Scenario], budget: Budget, seed: int, folder: Path) -> AttackReport:
    """Run the scenarios one after another. The last one makes all operations that the others have left."""
    tallies: dict[str, Tally] = {}
    seconds: dict[str, float] = {}
    for number, scenario in enumerate(scenarios):
        began, done = time.monotonic(), sum(tallies.values(), Tally())
        kills, operations = budget.kills * scenario.share.kills, budget.operations * scenario.share.operations
        part = Budget(kills=-(-kills // 100), operations=-(-operations // 100))
        if number == len(scenarios) - 1 and number:
            part = Budget(
                kills=max(0, budget.kills - done.kills), operations=max(0, budget.operations - done.operations)
            )
        at = folder / scenario.name
        at.mkdir()
        tallies[scenario.name] = scenario.run(seed, part, at)
        seconds[scenario.name] = time.monotonic() - began
        shutil.rmtree(at)
        print(f"{scenario.name}: {_count(tallies[scenario.name])}", file=sys.stderr, flush=True)
    return AttackReport(seed=seed, tallies=tallies, seconds=seconds)


def _shorten(what: str) -> str:
    """Return a text in one line. The end of a traceback says most."""
    line = " ".join(what.split())
    return line if len(line) < 300 else f"{line[:100]} ... {line[-200:]}"


def _count(tally: Tally) -> dict[str, int]:
    return {
        "kills": tally.kills,
        "operations": tally.operations,
        **{broken.value: tally.count(broken) for broken in Broken},
    }


def _warm_up(folder: Path) -> None:
    """Do a little of everything once, so that the children find every module and every table loaded."""
    import random

    async def use() -> None:
        model, chooser = FolderModel(), Chooser(rng=random.Random(0), own="w", banks=("a", "b"))
        async with open_memory(folder) as memory:
            for _ in range(40):
                operation = chooser.choose(model)
                await operation.perform(memory)
                if operation.effect is not None:
                    model.apply(operation.effect)

    asyncio.run(use())


def main(given: Sequence[str] | None = None) -> int:
    """Run the attack that the arguments describe. Return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument("--kills", type=int, default=700)
    parser.add_argument("--operations", type=int, default=70_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", nargs="*", default=(), choices=[one.name for one in SCENARIOS], help="the scenarios to run"
    )
    parser.add_argument("--folder", type=Path, help="where to attack: a folder on a fast disk")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(given)
    scenarios = [one for one in SCENARIOS if not chosen.only or one.name in chosen.only]
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="attack") as folder:
        _warm_up(Path(folder, "warm"))
        budget = Budget(kills=chosen.kills, operations=chosen.operations)
        report = run_attack(scenarios, budget, chosen.seed, Path(folder))
    print(report.to_json() if chosen.json else report.to_table())
    return int(bool(report.total.findings))


if __name__ == "__main__":
    sys.exit(main())
