"""Call the command line with bad options and bad input: it ends with an exit status, and never with a traceback."""

from __future__ import annotations

import io
import os
import random
import sys
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import typer.main

from benchmarks.attack.files import damage_lines, make_lines
from benchmarks.attack.processes import Tell, Work, run_children
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect.cli import app

_CALLS_PER_CHILD = 60
_BOUND_S = 60.0

_COMMANDS = tuple(
    "retain recall ask reflect opinions observations profile jobs costs forget banks export import backup restore "
    "rebuild recipes calibrate merges".split()
)
_STATUSES = (0, 1, 2, 3)
_TIMES = ("0001", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00+14:00", "2023-02-30", "2023-10-29T02:30", "", "now")
_NUMBERS = ("0", "-1", "1", "9" * 400, "nan", "1e9", "1_000", "٣")
_NAMES = ("", " ", ".", "..", "a/b", "../x", "x" * 300, "\udcff", "Ada", "ada", "CON", "«" * 500, "zq", "default")
_GOOD = ("default", "2023", "5", "mid", "turn", "Ada", "UTC", "0.5")
_VALUES = (*_TIMES, *_NUMBERS, *_NAMES, *_GOOD, *_GOOD, *_GOOD)


class Commands:
    """Every command with options that nobody should give, on a bank that has messages."""

    name = "commands"
    share = Budget(operations=1)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        options, flags = _list_options()
        while tally.operations < budget.operations:
            calls = _Calls(
                seed=rng.randrange(2**32), folder=folder / str(tally.operations), options=options, flags=flags
            )
            (outcome,) = run_children([Work(do=calls.do)], bound_s=_BOUND_S)
            findings = outcome.findings(calls.seed)
            findings += [
                Finding(broken=Broken.TRACEBACKS, seed=calls.seed, what=what) for what in outcome.values("escaped")
            ]
            done = outcome.values("done")
            tally += Tally(operations=len(done), findings=tuple(findings), details=Counter(done))
            if not done:
                break
        return tally


@dataclass(frozen=True, slots=True, kw_only=True)
class _Calls:
    """Calls commands in one process, one after another, in a folder of its own."""

    seed: int
    folder: Path
    options: dict[str, list[str]]
    flags: frozenset[str]

    def do(self, tell: Tell) -> None:
        rng = random.Random(self.seed)
        self.folder.mkdir()
        os.chdir(self.folder)
        for name in [name for name in os.environ if name.startswith("RECOLLECT")]:
            del os.environ[name]
        os.environ |= {"RECOLLECT_EMBEDDER": "none", "RECOLLECT_STORE": str(self.folder / "store")}
        self._call(["retain", "-", "--format", "chat"], "\n".join(make_lines(rng, "chat")), tell)
        for _ in range(_CALLS_PER_CHILD):
            kind = rng.choice(("jsonl", "openai", "chat"))
            given = "\n".join(damage_lines(rng, make_lines(rng, kind)))
            self._call(self._draw_command(rng), given, tell)

    def _draw_command(self, rng: random.Random) -> list[str]:
        command = rng.choice(_COMMANDS)
        words = [command]
        if command in ("retain", "import"):
            words.append(rng.choice(("-", "-", "-", "missing.txt", ".", "")))
        elif command in ("recall", "ask", "reflect", "backup", "restore", "rebuild"):
            words.append(rng.choice(_VALUES))
        for option in rng.sample(self.options[command], min(len(self.options[command]), rng.randrange(4))):
            words += [option] if option in self.flags else [option, rng.choice(_VALUES)]
        return words

    def _call(self, words: list[str], given: str, tell: Tell) -> None:
        out, err = io.StringIO(), io.StringIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogatepass")), encoding="utf-8")
        status: object = None
        try:
            with redirect_stdout(out), redirect_stderr(err):
                app(words, prog_name="recollect")
        except SystemExit as exc:
            status = exc.code or 0
        except BaseException as exc:
            status = "".join(traceback.format_exception(exc))[-1500:]
        if status not in _STATUSES or "Traceback" in err.getvalue():
            tell("escaped", f"recollect {words} ended with {status} {err.getvalue()[-500:]}")
        tell("done", f"ended with {status}")


def _list_options() -> tuple[dict[str, list[str]], frozenset[str]]:
    """Return the options of each command, and those that take no value.

    Options that choose where and with what a command works are left out.
    """
    commands = getattr(typer.main.get_command(app), "commands", {})
    apart = {"--store", "--embedder", "--reranker", "--model", "--help", "--follow", "--base-url", "--api-key"}
    options: dict[str, list[str]] = {}
    flags = set()
    for name in _COMMANDS:
        named = [(one, option) for one in commands[name].params for option in one.opts if option.startswith("--")]
        options[name] = [option for _, option in named if option not in apart]
        flags |= {option for one, option in named if one.is_flag}
    return options, frozenset(flags)
