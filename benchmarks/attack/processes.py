"""Children of this process: they are forked after everything is imported, they report over a pipe, and they are killed.

The parent never opens a memory. So a child starts in milliseconds, with one thread and no open file of a bank.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, BinaryIO, TypeVar

from benchmarks.attack.scenario import Broken, Finding

T = TypeVar("T")

BOUND_S = 60.0
"""The longest time between two reports of a child. After this time the child is stuck."""

STARTED = "started"
ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A report of a child. ``at`` is the monotonic time of the machine, which all processes share."""

    name: str
    value: Any = None
    at: float = field(default_factory=time.monotonic)


Tell = Callable[[str, object], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Kill a child ``after_s`` seconds after its first report of the name ``trigger``."""

    after_s: float
    trigger: str = STARTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a child does, and when it is killed, if at all."""

    do: Callable[[Tell], None]
    kill: Kill | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a child has reported. ``errors`` is what it wrote to standard error."""

    events: tuple[Event, ...]
    killed: bool
    stuck: bool
    errors: str

    def values(self, name: str) -> list[Any]:
        return [event.value for event in self.events if event.name == name]

    def findings(self, seed: int) -> list[Finding]:
        """Return the broken promises that show without a look into the bank."""
        found = []
        if self.stuck:
            found.append(Finding(broken=Broken.STUCK, seed=seed, what=f"a child was silent: {self.errors[-3000:]}"))
        elif "Traceback" in self.errors:
            found.append(Finding(broken=Broken.TRACEBACKS, seed=seed, what=self.errors[-3000:]))
        elif not self.killed and not any(event.name == ENDED for event in self.events):
            found.append(Finding(broken=Broken.TRACEBACKS, seed=seed, what=f"a child vanished: {self.errors[-3000:]}"))
        return found


@dataclass(slots=True)
class _Running:
    pid: int
    events: Connection
    errors: BinaryIO
    kill: Kill | None
    reports: list[Event] = field(default_factory=list)
    kill_at: float | None = None
    heard: float = field(default_factory=time.monotonic)
    killed: bool = False
    stuck: bool = False


def run_children(works: Sequence[Work], *, bound_s: float = BOUND_S) -> list[Outcome]:
    """Run children at the same time until each has ended, was killed, or was silent for ``bound_s`` seconds."""
    children = [_start(work, bound_s) for work in works]
    running = list(children)
    while running:
        now = time.monotonic()
        _kill_due(running, now, bound_s)
        soonest = min(child.kill_at if child.kill_at is not None else child.heard + bound_s for child in running)
        ready = wait([child.events for child in running], timeout=max(0.0, min(soonest - now, 1.0)))
        running = [child for child in running if child.events not in ready or _hear(child)]
    return [_end(child) for child in children]


def call_in_child(function: Callable[[], T], *, bound_s: float = BOUND_S) -> tuple[T | None, Outcome]:
    """Return the value of a function that a child calls, or ``None`` if the child has failed."""
    (outcome,) = run_children([Work(do=lambda tell: tell("value", function()))], bound_s=bound_s)
    values = outcome.values("value")
    return (values[0] if values else None), outcome


def _start(work: Work, bound_s: float) -> _Running:
    ours, theirs = Pipe(duplex=False)
    errors = tempfile.TemporaryFile()  # noqa: SIM115  it is closed when the child has ended
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        os.dup2(errors.fileno(), 2)
        ours.close()
        _be_child(work, theirs, bound_s)
    theirs.close()
    return _Running(pid=pid, events=ours, errors=errors, kill=work.kill)


def _be_child(work: Work, events: Connection, bound_s: float) -> None:
    """Do the work, and end this process without its parent's clean-up."""

    def tell(name: str, value: object = None) -> None:
        events.send(Event(name=name, value=value))

    try:
        faulthandler.dump_traceback_later(bound_s * 0.9, repeat=True, file=2)
        tell(STARTED)
        work.do(tell)
        tell(ENDED)
    except BaseException:
        traceback.print_exc()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(0)


def _kill_due(running: Iterable[_Running], now: float, bound_s: float) -> None:
    for child in running:
        if child.kill_at is not None and child.kill_at <= now:
            _kill(child)
            child.killed = True
        elif child.heard + bound_s <= now:
            _kill(child)
            child.stuck = True


def _kill(child: _Running) -> None:
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    child.kill_at = None
    child.heard = float("inf")


def _hear(child: _Running) -> bool:
    """Take one report. Return false if there are no more."""
    try:
        event = child.events.recv()
    except (EOFError, OSError):  # it has ended, perhaps in the middle of a report
        return False
    child.reports.append(event)
    if child.killed or child.stuck:  # the rest of the pipe
        return True
    child.heard = time.monotonic()
    if child.kill is not None and child.kill_at is None and event.name == child.kill.trigger:
        child.kill_at = child.heard + child.kill.after_s
    return True


def _end(child: _Running) -> Outcome:
    child.events.close()
    _, status = os.waitpid(child.pid, 0)
    with child.errors as errors:
        errors.seek(0)
        written = errors.read().decode("utf-8", "replace")
    return Outcome(
        events=tuple(child.reports),
        killed=child.killed and os.WIFSIGNALED(status),
        stuck=child.stuck,
        errors=written,
    )
