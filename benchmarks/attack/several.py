"""Several processes do everything in one folder at the same time, and one of them is killed."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.attack.bank_model import FolderModel
from benchmarks.attack.inspection import check_folder
from benchmarks.attack.operations import Chooser
from benchmarks.attack.processes import Kill, Work, run_children
from benchmarks.attack.rounds import BEGAN, Round, effects_of, settle
from benchmarks.attack.scenario import Budget, Tally

_PROCESSES = 3
_ROUNDS_PER_FOLDER = 10
_MOST = 25


class Several:
    """Each process has banks of its own, and all write to shared banks. Two have a model and do jobs, one of which is
    killed in most rounds.
    """

    name = "several"
    share = Budget(kills=12, operations=10)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally, model, number, at = random.Random(seed), Tally(), FolderModel(), 0, folder
        while tally.kills < budget.kills or tally.operations < budget.operations:
            if number % _ROUNDS_PER_FOLDER == 0:
                at, model = folder / str(number), FolderModel()
            number += 1
            tally += _round(rng.randrange(2**32), at, model, kill=tally.kills < budget.kills)
        return tally


def _round(seed: int, folder: Path, model: FolderModel, *, kill: bool) -> Tally:
    rng = random.Random(seed)
    soon = Kill(after_s=rng.uniform(0, 0.5), trigger=BEGAN)
    works = []
    for number in range(_PROCESSES):
        chooser = Chooser(
            rng=random.Random(f"{seed}-{number}"),
            own=f"c{number}",
            banks=(f"own{number}a", f"own{number}b"),
            shared=("shared", "shared2"),
            backups=folder.with_name(f"{folder.name}-backups{number}"),
            has_model=number < 2,
        )
        round_ = Round(folder=folder, chooser=chooser, model=model, most=_MOST)
        works.append(Work(do=round_.do, kill=soon if kill and not number else None))
    settled = [settle(outcome, model, seed) for outcome in run_children(works)]
    findings = check_folder(folder, model, effects_of(settled), seed)
    return sum((one.tally for one in settled), Tally()) + Tally(findings=tuple(findings))
