"""One process does everything with a folder, and is killed at any moment."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.attack.bank_model import FolderModel
from benchmarks.attack.inspection import check_folder
from benchmarks.attack.operations import Chooser
from benchmarks.attack.processes import Work, run_children
from benchmarks.attack.rounds import Round, draw_aim, effects_of, settle
from benchmarks.attack.scenario import Budget, Tally

_BANKS = ("one", "two", "three")
_ROUNDS_PER_FOLDER = 40
_KINDS = ("retain", "retain", "forget", "forget", "drop", "import", "restore", "restore", "rebuild", "recall")
_DIMENSIONS = (64, 64, 64, 64, 64, 64, 64, 32)


class Kills:
    """kill -9 during retain, forget, import, backup, restore, rebuild, drop and reading."""

    name = "kills"
    share = Budget(kills=50)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally, model = random.Random(seed), Tally(), FolderModel()
        at, number = folder / "0", 0
        while tally.kills < budget.kills or tally.operations < budget.operations:
            if number % _ROUNDS_PER_FOLDER == 0:
                at, model = folder / str(number), FolderModel()
            number += 1
            tally += self._round(rng.randrange(2**32), at, model)
        return tally

    def _round(self, seed: int, folder: Path, model: FolderModel) -> Tally:
        rng = random.Random(seed)
        aim = draw_aim(rng, rng.choice(_KINDS))
        chooser = Chooser(rng=rng, own="k", banks=_BANKS, backups=folder.with_name(f"{folder.name}-backups"))
        round_ = Round(folder=folder, chooser=chooser, model=model, aim=aim, dimension=rng.choice(_DIMENSIONS))
        (outcome,) = run_children([Work(do=round_.do, kill=aim.kill)])
        settled = settle(outcome, model, seed)
        findings = check_folder(folder, model, effects_of([settled]), seed)
        return settled.tally + Tally(findings=tuple(findings))
