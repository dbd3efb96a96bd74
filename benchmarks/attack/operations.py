"""The operations of an attack: how each is chosen, how the library does it, and its effect in the plain model."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchmarks.attack.bank_model import BankModel, Effect, FolderModel
from benchmarks.attack.material import SPEAKERS, Said, make_said
from recollect import Memory
from recollect.errors import EmbedderMismatch
from recollect.memory.bank import Bank

_MOST_MESSAGES = 250
"""A bank with more messages is dropped soon, because checking it takes longer than attacking it."""

_EVERYTHING = 10_000
"""More than any search finds. So a recall shows if a message can be found, and not how it is ranked."""


class Broke(Exception):
    """A read has shown that a promise does not hold."""


class Operation(Protocol):
    """One call of the library."""

    @property
    def kind(self) -> str: ...

    @property
    def bank(self) -> str: ...

    @property
    def effect(self) -> Effect | None:
        """Return the effect in the plain model, or ``None`` for an operation that only reads."""
        ...

    async def perform(self, memory: Memory) -> None:
        """Call the library.

        Raises:
            Broke: the result is not what it has to be.
        """
        ...


async def open_bank(memory: Memory, name: str) -> Bank:
    """Open a bank, whichever embedder its vectors come from."""
    try:
        return await memory.bank(name)
    except EmbedderMismatch:
        return await memory.rebuild(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Retain messages of one session. The ``repeated`` ones are there already, which must change nothing."""

    bank: str
    session: str
    said: tuple[Said, ...]
    repeated: tuple[Said, ...] = ()
    kind: str = "retain"

    @property
    def effect(self) -> Effect:
        return Effect(bank=self.bank, adds={one.id: one for one in self.said})

    async def perform(self, memory: Memory) -> None:
        bank = await open_bank(memory, self.bank)
        given = [one.to_message() for one in (*self.said, *self.repeated)]
        receipt = await bank.retain(given, session=self.session)
        if (len(receipt.messages), receipt.skipped) != (len(self.said), len(self.repeated)):
            raise Broke(f"retain acknowledged {len(receipt.messages)} of {len(self.said)} messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Forget messages by a criterion of ``Bank.forget``. ``ids`` are the messages that it has to select."""

    bank: str
    criterion: str
    values: tuple[str, ...]
    ids: frozenset[str]
    alone: bool = True
    kind: str = "forget"

    @property
    def effect(self) -> Effect:
        return Effect(bank=self.bank, removes=self.ids)

    async def perform(self, memory: Memory) -> None:
        bank = await open_bank(memory, self.bank)
        by: dict[str, tuple[str, ...]] = {self.criterion: self.values}
        receipt = await bank.forget(**by)  # type: ignore[arg-type]  # one of the criteria that take names
        if not self.ids <= set(receipt.messages):
            raise Broke(f"forget by {self.criterion} left {sorted(self.ids - set(receipt.messages))}")
        if self.alone and not receipt.verified:
            raise Broke(f"forget is not verified, and nobody else has the bank open: {receipt.leftovers}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Drop a bank."""

    bank: str
    ids: frozenset[str]
    kind: str = "drop"

    @property
    def effect(self) -> Effect:
        return Effect(bank=self.bank, removes=self.ids, drops=True)

    async def perform(self, memory: Memory) -> None:
        await memory.drop(self.bank)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Export a bank and import it into a new one."""

    source: str
    bank: str
    said: Mapping[str, Said]
    kind: str = "import"

    @property
    def effect(self) -> Effect:
        return Effect(bank=self.bank, adds=self.said, creates=True)

    async def perform(self, memory: Memory) -> None:
        lines = [line async for line in (await open_bank(memory, self.source)).export()]
        info = await memory.import_bank(self.bank, lines)
        if info.messages != len(self.said):
            raise Broke(f"import acknowledged {info.messages} of {len(self.said)} messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Back a bank up to a file, and make a new bank from it."""

    source: str
    bank: str
    said: Mapping[str, Said]
    file: Path
    kind: str = "restore"

    @property
    def effect(self) -> Effect:
        return Effect(bank=self.bank, adds=self.said, creates=True)

    async def perform(self, memory: Memory) -> None:
        self.file.parent.mkdir(exist_ok=True)
        for left in self.file.parent.glob("*.backup"):  # of a process that was killed: it is complete
            _require_whole(left)
            left.unlink()
        await open_bank(memory, self.source)
        receipt = await memory.backup(self.source, self.file)
        info = await memory.restore(self.file, self.bank)
        self.file.unlink()
        if {receipt.messages, info.messages} != {len(self.said)}:
            raise Broke(f"of {len(self.said)} messages, {receipt.messages} were backed up, {info.messages} restored")


def _require_whole(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise Broke(f"{file.name} was left by a killed process, and is damaged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Embed all items of a bank again."""

    bank: str
    effect: None = None
    kind: str = "rebuild"

    async def perform(self, memory: Memory) -> None:
        await memory.rebuild(self.bank)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoJobs:
    """Do the jobs of a bank that are waiting. The memory has a language model."""

    bank: str
    effect: None = None
    kind: str = "jobs"

    async def perform(self, memory: Memory) -> None:
        await (await open_bank(memory, self.bank)).run_jobs()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Recall a message by its token. It has to be found, or not found after it was forgotten."""

    bank: str
    token: str
    there: bool
    kind: str = "recall"
    effect: None = None

    async def perform(self, memory: Memory) -> None:
        found = await (await open_bank(memory, self.bank)).recall(self.token, limit=_EVERYTHING, max_tokens=None)
        held = any(self.token in evidence.text for evidence in found.evidence)
        if held != self.there:
            raise Broke(f"recall {'finds a forgotten' if held else 'misses the'} message with {self.token}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Read messages by id, word for word."""

    bank: str
    said: Mapping[str, Said]
    gone: tuple[str, ...] = ()
    kind: str = "read"
    effect: None = None

    async def perform(self, memory: Memory) -> None:
        there = await (await open_bank(memory, self.bank)).messages([*self.said, *self.gone])
        read = {one.id: (one.session, one.speaker, one.text) for one in there}
        expected = {id_: (one.session, one.speaker, one.text) for id_, one in self.said.items()}
        if read != expected:
            missing, more = sorted(expected.keys() - read.keys()), sorted(read.keys() - expected.keys())
            raise Broke(f"messages are not as acknowledged: missing {missing}, forgotten but there {more}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Chooses operations for one process.

    ``banks`` are the banks that it may drop. In ``shared`` it writes beside other processes: it forgets only what it
    has said itself. ``weights`` say how often each kind is chosen. ``backups`` is a folder for
    backups; without it, banks are exported and imported instead.
    """

    rng: random.Random
    own: str
    banks: tuple[str, ...]
    shared: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    backups: Path | None = None
    has_model: bool = False

    def choose(self, model: FolderModel, kind: str | None = None) -> Operation:
        """Return an operation that fits what the model knows, if possible of this ``kind``."""
        name = self.rng.choice((*self.banks, *self.shared))
        bank = model.banks.get(name)
        if bank is None or not bank.said:
            return self._retain(name, model)
        if len(bank.said) > _MOST_MESSAGES:
            return self._drop(name, bank) if name in self.banks else self._forget(name, bank)
        makers = self._makers(name, bank, model)
        if kind not in makers:
            kind = self.rng.choices(list(makers), [self.weights.get(one, _WEIGHTS[one]) for one in makers])[0]
        return makers[kind]()

    def _makers(self, name: str, bank: BankModel, model: FolderModel) -> dict[str, Callable[[], Operation]]:
        makers: dict[str, Callable[[], Operation]] = {
            "retain": lambda: self._retain(name, model),
            "recall": lambda: self._recall(name, bank),
            "read": lambda: self._read(name, bank),
            "forget": lambda: self._forget(name, bank),
            "rebuild": lambda: Rebuild(bank=name),
        }
        if self.has_model:
            makers["jobs"] = lambda: DoJobs(bank=name)
        if name in self.banks:
            makers["drop"] = lambda: self._drop(name, bank)
            makers["import"] = lambda: self._copy(name, bank, model, file=None)
            makers["restore"] = lambda: self._copy(name, bank, model, file=self._make_file_name())
        return makers

    def _retain(self, name: str, model: FolderModel) -> Retain:
        session = f"{self.own}-{self.rng.randrange(8)}"
        count = self.rng.choice((1, 1, 1, 1, 2, 3, 5, 8, 40))
        said = tuple(make_said(self.rng, session) for _ in range(count))
        there = [one for one in model.banks.get(name, BankModel()).said.values() if one.session == session]
        repeated = (self.rng.choice(there),) if there and self.rng.random() < 0.1 else ()
        return Retain(bank=name, session=session, said=said, repeated=repeated)

    def _recall(self, name: str, bank: BankModel) -> Operation:
        if bank.gone and self.rng.random() < 0.3:
            return Recall(bank=name, token=self.rng.choice(sorted(bank.gone)), there=False)
        mine = self._mine(bank)
        return Recall(bank=name, token=self.rng.choice(mine).token, there=True) if mine else Read(bank=name, said={})

    def _read(self, name: str, bank: BankModel) -> Read:
        mine = self._mine(bank)
        some = self.rng.sample(mine, min(len(mine), self.rng.choice((1, 5, 50))))
        gone = sorted(bank.gone)
        return Read(
            bank=name,
            said={one.id: one for one in some},
            gone=tuple(f"m{token}" for token in self.rng.sample(gone, min(len(gone), 3))),
        )

    def _forget(self, name: str, bank: BankModel) -> Operation:
        mine, alone = self._mine(bank), name in self.banks
        if not mine:
            return Read(bank=name, said={})
        way = self.rng.random()
        if way < 0.7 or not alone:
            some = self.rng.sample(mine, min(len(mine), self.rng.choice((1, 1, 2, 10))))
            ids = frozenset(one.id for one in some)
            return Forget(bank=name, criterion="messages", values=tuple(sorted(ids)), ids=ids, alone=alone)
        criterion, value = (
            ("session", self.rng.choice(mine).session) if way < 0.9 else ("speaker", self.rng.choice(SPEAKERS))
        )
        ids = frozenset(one.id for one in mine if getattr(one, criterion) == value)
        if not ids:
            return Read(bank=name, said={})
        return Forget(bank=name, criterion=criterion, values=(value,), ids=ids, alone=alone)

    def _drop(self, name: str, bank: BankModel) -> Drop:
        return Drop(bank=name, ids=frozenset(bank.said))

    def _copy(self, name: str, bank: BankModel, model: FolderModel, *, file: Path | None) -> Operation:
        free = [other for other in self.banks if other not in model.banks]
        if not free:
            return self._drop(name, bank)
        said = dict(bank.said)
        if file is None:
            return Import(source=name, bank=free[0], said=said)
        return Restore(source=name, bank=free[0], said=said, file=file)

    def _make_file_name(self) -> Path | None:
        return self.backups / f"{self.rng.randrange(10**9)}.backup" if self.backups else None

    def _mine(self, bank: BankModel) -> list[Said]:
        return [one for one in bank.said.values() if one.session.startswith(f"{self.own}-")]


_WEIGHTS = {
    "retain": 6.0,
    "recall": 4.0,
    "read": 4.0,
    "forget": 1.5,
    "rebuild": 0.3,
    "drop": 0.15,
    "import": 0.4,
    "restore": 0.4,
    "jobs": 2.0,
}
