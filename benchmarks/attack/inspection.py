"""Look at a folder of banks after an attack, and compare it with the plain model."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attack.bank_model import BankModel, Effect, FolderModel
from benchmarks.attack.material import find_tokens
from benchmarks.attack.memories import open_memory
from benchmarks.attack.operations import open_bank
from benchmarks.attack.processes import call_in_child
from benchmarks.attack.scenario import Broken, Finding
from recollect.errors import RecollectError

Row = tuple[str, str, str]

_NOTHING_HALF = {
    "an item without its vector and terms": "SELECT id FROM item WHERE seq NOT IN (SELECT item FROM indexing)",
    "an item from nothing": """
        SELECT id FROM item WHERE seq NOT IN (SELECT item FROM source) AND seq NOT IN (SELECT item FROM derivation)
        AND NOT id GLOB 'given:*'""",
    "a message without a turn": """
        SELECT id FROM message WHERE seq NOT IN
        (SELECT s.message FROM source s JOIN item i ON i.seq = s.item WHERE i.kind = 'turn')""",
    "a row that points nowhere": "SELECT * FROM pragma_foreign_key_check",
    "a damaged file": "SELECT * FROM pragma_integrity_check WHERE integrity_check != 'ok'",
    "words of no item": "SELECT id FROM item_fts_docsize WHERE id NOT IN (SELECT seq FROM item)",
    "an item without its words": "SELECT seq FROM item WHERE seq NOT IN (SELECT id FROM item_fts_docsize)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The contents of a folder. ``banks`` are the messages by id, ``problems`` are files that are not whole."""

    banks: Mapping[str, Mapping[str, Row]]
    tokens: Mapping[str, frozenset[str]]
    problems: tuple[str, ...]


def look_into(folder: Path, *, clean: bool = True) -> Seen:
    """Open every bank and close it again, and then read the files. Call it in a child.

    Without ``clean``, no bank is opened before the files are read.
    """
    banks, problems = asyncio.run(_read_banks(folder)) if clean else ({}, [])
    for file in sorted(folder.glob("*.bank")):
        problems += [f"{file.name}: {problem}" for problem in _list_problems(file)]
    files = [file for file in folder.rglob("*") if file.is_file()]
    tokens = {str(file.relative_to(folder)): frozenset(find_tokens(_read_bytes(file))) for file in files}
    return Seen(banks=banks, tokens=tokens, problems=tuple(problems))


def check_folder(
    folder: Path, model: FolderModel, doubtful: Iterable[Effect], seed: int, *, bound_s: float = 60.0
) -> list[Finding]:
    """Compare a folder with the model, and bring the model up to date.

    ``doubtful`` are the effects of operations that were interrupted: each has taken place as a whole, or not at all.
    """
    seen, outcome = call_in_child(lambda: look_into(folder), bound_s=bound_s)
    findings = outcome.findings(seed)
    if seen is None:
        return findings or [Finding(broken=Broken.UNEXPLAINED, seed=seed, what="the folder could not be looked at")]
    findings += [Finding(broken=Broken.LOST, seed=seed, what=problem) for problem in seen.problems]
    for effect in doubtful:
        done = effect.is_done(seen.banks.get(effect.bank))
        if done is None:
            findings.append(Finding(broken=Broken.LOST, seed=seed, what=_describe_half(effect, seen)))
        if done or done is None:
            model.apply(effect)
    findings += compare(model, seen, seed)
    _adopt(model, seen)
    return findings


def compare(model: FolderModel, seen: Seen, seed: int) -> list[Finding]:
    """Return what a folder has lost, and what it still has although it was forgotten or dropped."""
    findings: list[Finding] = []
    for name, bank in model.banks.items():
        there = seen.banks.get(name, {})
        expected = {id_: (one.session, one.speaker, one.text) for id_, one in bank.said.items()}
        if lost := sorted(id_ for id_, row in expected.items() if there.get(id_) != row):
            what = f"bank {name}: {len(lost)} of {len(expected)} messages are lost or changed: {lost[:3]}"
            findings.append(Finding(broken=Broken.LOST, seed=seed, what=what))
        if more := sorted(there.keys() - expected.keys()):
            what = f"bank {name}: {len(more)} messages that nobody has retained, or that were forgotten: {more[:3]}"
            findings.append(Finding(broken=Broken.LEFT, seed=seed, what=what))
    findings += [
        Finding(broken=Broken.LEFT, seed=seed, what=f"bank {name} was dropped, and is there")
        for name in seen.banks.keys() - model.banks.keys()
        if seen.banks[name]
    ]
    for file, tokens in seen.tokens.items():
        if left := sorted(tokens & model.gone_from(_bank_of(file))):
            what = f"{file} holds {len(left)} forgotten tokens: {left[:3]}"
            findings.append(Finding(broken=Broken.LEFT, seed=seed, what=what))
    return findings


def _adopt(model: FolderModel, seen: Seen) -> None:
    """Take the folder as it is, so that one broken promise is not counted in every later round."""
    for name in seen.banks.keys() - model.banks.keys():  # it was created, and its first messages were not stored
        model.banks[name] = BankModel(gone=model.dropped.pop(name, set()))
    for name, bank in model.banks.items():
        there = seen.banks.get(name, {})
        bank.said = {id_: one for id_, one in bank.said.items() if id_ in there}
    for file, tokens in seen.tokens.items():
        model.gone_from(_bank_of(file)).difference_update(tokens)


def _bank_of(file: str) -> str:
    """Return the name of the bank that a file belongs to. A file in a folder belongs to none."""
    return "" if "/" in file else file.partition(".")[0]


def _describe_half(effect: Effect, seen: Seen) -> str:
    there = seen.banks.get(effect.bank)
    held = 0 if there is None else len(there.keys() & effect.adds.keys())
    kept = 0 if there is None else len(there.keys() & effect.removes)
    return (
        f"bank {effect.bank}: an interrupted operation took effect in part: {held} of {len(effect.adds)} messages were "
        f"added, and {kept} of {len(effect.removes)} to be removed are there"
    )


async def _read_banks(folder: Path) -> tuple[dict[str, dict[str, Row]], list[str]]:
    banks: dict[str, dict[str, Row]] = {}
    problems = []
    async with open_memory(folder) as memory:
        for name in await memory.banks():
            try:
                bank = await open_bank(memory, name)
                banks[name] = {one.id: (one.session, one.speaker, one.text) for one in await bank.messages()}
            except RecollectError as exc:
                problems.append(f"{name}: {type(exc).__name__}: {exc}")
    return banks, problems


def _list_problems(file: Path) -> Sequence[str]:
    problems = []
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for problem, query in _NOTHING_HALF.items():
                if rows := connection.execute(query).fetchall():
                    problems.append(f"{problem}: {rows[:3]}")
            connection.execute("INSERT INTO item_fts (item_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.Error as exc:
        problems.append(f"{type(exc).__name__}: {exc}")
    return problems


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
