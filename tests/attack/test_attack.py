"""The attack finds what is broken, and finds nothing in a short run (``make attack`` is the long one)."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.attack.bank_model import BankModel, Effect, FolderModel
from benchmarks.attack.inspection import Seen, compare
from benchmarks.attack.material import Said, find_tokens
from benchmarks.attack.operations import Retain
from benchmarks.attack.processes import Event, Outcome
from benchmarks.attack.rounds import BEGAN, BROKE, DONE, REFUSED, settle
from benchmarks.attack.scenario import Broken, Finding, Tally

ROOT = Path(__file__).parents[2]
TOKEN = "zq000000000001"
SAID = Said(
    id="m1", session="s", speaker="Ada", text=f"I saw {TOKEN}", token=TOKEN, at=datetime(2024, 5, 1, tzinfo=UTC)
)
SHORT = "--kills 20 --operations 300 --seed 7 --json --only kills jobs several drops damage files clocks states"
ROW = ("s", "Ada", f"I saw {TOKEN}")

CHILDREN = """
import json, sys, time
from benchmarks.attack.processes import Kill, Work, run_children

def sleep(tell): time.sleep(60)
def fail(tell): raise KeyError("x")
def end(tell): tell("done", 1)

killed = Work(do=sleep, kill=Kill(after_s=0.01))
outcomes = run_children([Work(do=sleep), Work(do=fail), Work(do=end), killed], bound_s=1)
print(json.dumps([[one.broken for one in outcome.findings(0)] for outcome in outcomes] + [outcomes[3].killed]))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, env=dict(os.environ))


def seen(messages, tokens=frozenset()):
    return Seen(banks={"b": messages}, tokens={"b.bank": frozenset(tokens)}, problems=())


def broken(findings):
    return [finding.broken for finding in findings]


def test_a_short_attack_finds_nothing():
    done = run("-m", "benchmarks.attack", *SHORT.split())
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["findings"] == []
    assert done.returncode == 0
    assert (report["kills"] >= 20, report["operations"] >= 300) == (True, True)
    assert {report[one.value] for one in Broken} == {0}


def test_an_unknown_scenario_is_refused():
    assert run("-m", "benchmarks.attack", "--only", "nothing").returncode == 2


def test_children_that_hang_fail_or_are_killed_are_told_apart():
    done = run("-c", CHILDREN)
    assert json.loads(done.stdout) == [["stuck"], ["tracebacks"], [], [], True], done.stderr


def test_a_message_that_was_acknowledged_and_is_missing_or_changed_is_lost():
    model = FolderModel(banks={"b": BankModel(said={"m1": SAID})})
    assert broken(compare(model, seen({"m1": ROW}), 0)) == []
    assert broken(compare(model, seen({}), 0)) == [Broken.LOST]
    assert broken(compare(model, seen({"m1": ("s", "Ada", "I saw")}), 0)) == [Broken.LOST]


def test_a_forgotten_message_that_is_there_and_a_forgotten_word_in_a_file_are_left():
    model = FolderModel(banks={"b": BankModel(said={"m1": SAID})})
    model.apply(Effect(bank="b", removes=frozenset({"m1"})))
    assert broken(compare(model, seen({}), 0)) == []
    assert broken(compare(model, seen({"m1": ROW}), 0)) == [Broken.LEFT]
    assert broken(compare(model, seen({}, find_tokens(b"\0" + SAID.text.encode())), 0)) == [Broken.LEFT]


def test_a_dropped_bank_may_leave_nothing_in_any_file():
    model = FolderModel(banks={"b": BankModel(said={"m1": SAID})})
    model.apply(Effect(bank="b", removes=frozenset({"m1"}), drops=True))
    there = Seen(banks={}, tokens={"b.bank-wal": frozenset({TOKEN})}, problems=())
    assert broken(compare(model, there, 0)) == [Broken.LEFT]
    beside = Seen(banks={}, tokens={".staging/x": frozenset({TOKEN})}, problems=())
    assert broken(compare(model, beside, 0)) == [Broken.LEFT]


def test_an_interrupted_operation_took_place_as_a_whole_or_not_at_all():
    adds = {"m1": SAID, "m2": SAID}
    assert Effect(bank="b", adds=adds).is_done({}) is False
    assert Effect(bank="b", adds=adds).is_done({"m1": ROW, "m2": ROW}) is True
    assert Effect(bank="b", adds=adds).is_done({"m1": ROW}) is None
    assert Effect(bank="b", removes=frozenset({"m1", "m2"})).is_done({"m2": ROW}) is None
    assert Effect(bank="b", removes=frozenset({"m1"}), drops=True).is_done({}) is None
    assert Effect(bank="b", removes=frozenset({"m1"}), drops=True).is_done(None) is True


def test_what_was_acknowledged_counts_and_what_was_interrupted_is_in_doubt():
    first, second = (Retain(bank="b", session="s", said=(SAID,)), Retain(bank="c", session="s", said=(SAID,)))
    events = (Event(name=BEGAN, value=first), Event(name=DONE), Event(name=BEGAN, value=second))
    model = FolderModel()
    settled = settle(Outcome(events=events, killed=True, stuck=False, errors=""), model, 0)
    assert (settled.tally.kills, settled.tally.operations) == (1, 1)
    assert settled.doubtful == second.effect
    assert (set(model.banks), set(model.banks["b"].said)) == ({"b"}, {"m1"})


def test_refusals_and_wrong_reads_are_findings():
    events = (
        Event(name=BEGAN, value=Retain(bank="b", session="s", said=(SAID,))),
        Event(name=REFUSED, value="retain: StaleWrite"),
        Event(name=BROKE, value="recall misses the message"),
        Event(name=BROKE, value="recall finds a forgotten message"),
        Event(name="ended"),
    )
    model = FolderModel()
    settled = settle(Outcome(events=events, killed=False, stuck=False, errors=""), model, 0)
    assert broken(settled.tally.findings) == [Broken.UNEXPLAINED, Broken.LOST, Broken.LEFT]
    assert (settled.doubtful, model.banks) == (None, {})


def test_tallies_add_up():
    one = Tally(kills=1, operations=2, findings=(Finding(broken=Broken.LOST, seed=1, what="x"),), details={"a": 1})
    total = one + one
    assert (total.kills, total.operations, total.count(Broken.LOST), total.details) == (2, 4, 2, {"a": 2})
