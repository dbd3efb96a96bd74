"""Run by test_kills.py: forks, at each line it reads, a child that lives through the conversation until it dies.

A line says where the bank is, what the time is, and where to die: at which point of the next call of an operation, or
at no point. The child dies by its own hand, by SIGKILL, so that it is exactly there; ``during`` a call the endpoint
kills it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bank_under_test import Clock, Faulty, Life, Watch, opened
from endpoint import KILL, Endpoint

from recollect.domain.items import ItemKind
from recollect.methods.hindsight.reinforcer import Assessments
from recollect.store.sqlite import store as sqlite
from recollect.testing.models import HashEmbedder


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Doom:
    """Where a child dies; each part of it is asked as the child gets there."""

    def __init__(self, operation: str, point: str) -> None:
        self.operation, self.point = operation, point
        self.replied = False

    def at(self, point: str) -> None:
        if self.point == point:
            die()

    def writes(self, changes: Any) -> bool:
        """Whether this is what came of the operation."""
        if changes.settled_job is not None:
            return bool(changes.settled_job.kind == self.operation)
        return self.operation.endswith("reflect") and any(
            entry.item.kind is ItemKind.OPINION for entry in changes.items
        )


class Doomed(Faulty):
    """Dies before a call, during it, or when the reply is there."""

    def __init__(self, at: Endpoint, doom: Doom) -> None:
        super().__init__(at, {})
        self._doom = doom

    async def generate(self, prompt, answer_type, *, check=None):
        if prompt.operation != self._doom.operation:
            return await super().generate(prompt, answer_type, check=check)
        self._doom.at("before")
        self._doom.replied = False
        if self._doom.point == "during":
            prompt = replace(prompt, subject=f"{prompt.subject}{KILL}{os.getpid()}")
        reply = await super().generate(prompt, answer_type, check=check)
        self._doom.at("replied")
        self._doom.replied = _changes_something(reply.value)
        return reply


def _changes_something(value: Any) -> bool:
    """Whether anything is derived of a reply: where a fact bears on no opinion, nothing is."""
    return not isinstance(value, Assessments) or any(one.assessment != "neutral" for one in value.assessments)


class DoomedEmbedder(HashEmbedder):
    """Dies when it is to embed what was derived from a reply."""

    def __init__(self, doom: Doom) -> None:
        super().__init__()
        self._doom = doom

    async def embed(self, texts, *, purpose="document"):
        if self._doom.replied and purpose == "document":
            self._doom.at("deriving")
        return await super().embed(texts, purpose=purpose)


def doom_the_store(doom: Doom) -> None:
    """Die when everything is written but the transaction is open still, or when it is committed."""
    write, commit = sqlite.write_changes, sqlite.SqliteStore.commit

    def written(connection, changes):
        write(connection, changes)
        if doom.writes(changes):
            doom.at("writing")

    async def committed(self, changes):
        await commit(self, changes)
        if doom.writes(changes):
            doom.at("committed")

    sqlite.write_changes = written
    sqlite.SqliteStore.commit = committed


class ToldLife(Life):
    """Says which sessions it was told are kept."""

    async def _kept(self, session: str) -> None:
        await super()._kept(session)
        tell({"kept": session})


class Blind(Watch):
    """Looks for work alone: the one who kills looks at everything else."""

    def _observations_are_whole(self, seen) -> None: ...


async def live(line: dict[str, str]) -> None:
    folder, clock = Path(line["folder"]), Clock()
    clock.now = datetime.fromisoformat(line["now"])
    doom = Doom(line.get("operation", ""), line.get("point", ""))
    doom_the_store(doom)
    watch = Blind(folder=folder, assert_sound=lambda file: None)
    model = Doomed(Endpoint(line["url"]), doom)
    async with opened(folder, model, clock, embedder=DoomedEmbedder(doom)) as bank:
        tell({"open": True})
        await ToldLife(bank, clock, watch).all()


def tell(line: object) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


async def warm_up(url: str) -> None:
    """Load what is loaded on first use, so that the children have it."""
    with TemporaryDirectory() as folder:
        watch = Blind(folder=Path(folder), assert_sound=lambda file: None)
        async with opened(Path(folder), Faulty(Endpoint(url), {}), clock := Clock()) as bank:
            await Life(bank, clock, watch).all()


def main(url: str) -> None:
    asyncio.run(warm_up(url))
    tell({"ready": True})
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                asyncio.run(live({"url": url, **json.loads(line)}))
                tell({"lived": True})
            except BaseException as exc:
                tell({"failed": repr(exc)})
            os._exit(1)
        tell({"child": child})
        _, status = os.waitpid(child, 0)
        tell({"dead": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    main(sys.argv[1])
