"""Damage the pages of a bank's file: it stays readable, or the library raises an error of its own."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.attack.material import Said, make_said
from benchmarks.attack.memories import open_memory
from benchmarks.attack.operations import open_bank
from benchmarks.attack.processes import Tell, Work, call_in_child, run_children
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect import Memory
from recollect.errors import RecollectError

_BANK = "b"
_PAGE = 4096
_CALLS_PER_FILE = 8
_BOUND_S = 30.0


class Damage:
    """Flipped bytes, cut files, swapped, zeroed and repeated pages, and a log that is missing or damaged."""

    name = "damage"
    share = Budget(operations=2)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        said = [make_said(rng, f"k-{number % 4}") for number in range(80)]
        whole = folder / "whole"
        call_in_child(lambda: asyncio.run(_fill(whole, said)))
        whole = whole.with_name("copy")
        while tally.operations < budget.operations:
            tally += _damage_once(rng.randrange(2**32), whole, folder / "damaged", said)
        return tally


def _damage_once(seed: int, whole: Path, folder: Path, said: list[Said]) -> Tally:
    rng = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    way = rng.choice(_WAYS)
    damaged = rng.choice([file for file in sorted(folder.iterdir()) if file.stat().st_size])
    damaged.write_bytes(way(rng, damaged.read_bytes()))
    (outcome,) = run_children([Work(do=lambda tell: asyncio.run(_use(folder, said, seed, tell)))], bound_s=_BOUND_S)
    where = f"{way.__name__} in {damaged.name}"
    findings = [Finding(broken=one.broken, seed=seed, what=f"{where}: {one.what}") for one in outcome.findings(seed)]
    findings += [
        Finding(broken=Broken.LEFT, seed=seed, what=f"{where}: {what}") for what in outcome.values("not verified")
    ]
    seen = f"{way.__name__.strip('_')}: {'refused' if outcome.values('refused') else 'readable'}"
    return Tally(operations=len(outcome.values("done")), findings=tuple(findings), details={seen: 1})


async def _fill(folder: Path, said: list[Said]) -> None:
    async with open_memory(folder) as memory:
        bank = await memory.bank(_BANK)
        for one in said:
            await bank.retain(one.to_message(), session=one.session)
        await bank.forget(messages=said[0].id)
        await bank.retain(make_said(random.Random(0), "k-0").to_message(), session="k-0")
        await asyncio.to_thread(_copy_as_after_a_kill, folder)


def _copy_as_after_a_kill(folder: Path) -> None:
    """Copy the files while the bank is open, so that its log is among them."""
    shutil.copytree(folder, folder.with_name("copy"))


async def _use(folder: Path, said: list[Said], seed: int, tell: Tell) -> None:
    """Call everything that reads or writes the bank. Only errors of the library's own tree may be raised."""
    rng = random.Random(seed)
    calls = rng.sample(_CALLS, len(_CALLS))[:_CALLS_PER_FILE]
    try:
        async with open_memory(folder) as memory:
            for call in calls:
                try:
                    await call(memory, rng.choice(said), tell, folder)
                except RecollectError as exc:
                    tell("refused", f"{call.__name__}: {type(exc).__name__}")
                tell("done", call.__name__)
    except RecollectError as exc:
        tell("refused", f"close: {type(exc).__name__}")


async def _read(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    await (await open_bank(memory, _BANK)).messages()


async def _recall(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    await (await open_bank(memory, _BANK)).recall(said.text[:60])


async def _retain(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    new = make_said(random.Random(said.id), "k-0").to_message()
    await (await open_bank(memory, _BANK)).retain(new, session="k-0")


async def _forget(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    receipt = await (await open_bank(memory, _BANK)).forget(messages=said.id)
    if receipt.verified and receipt.messages:
        left = await asyncio.to_thread(_list_holding, folder, said.token)
        if left:
            tell("not verified", f"forget was verified, and {left} hold the forgotten token {said.token}")


async def _export(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    async for _ in (await open_bank(memory, _BANK)).export():
        pass


async def _items(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    bank = await open_bank(memory, _BANK)
    await bank.items("turn", "segment", "summary")
    await bank.sessions()
    await bank.merges()


async def _info(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    await memory.info(_BANK)
    await memory.banks()
    await memory.banks_with_jobs()


async def _rebuild(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    await memory.rebuild(_BANK)


async def _backup(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    await memory.backup(_BANK, folder / "copy.backup")
    await memory.restore(folder / "copy.backup", "restored")


async def _backfill(memory: Memory, said: Said, tell: Tell, folder: Path) -> None:
    bank = await open_bank(memory, _BANK)
    await bank.backfill()
    await bank.jobs()
    await bank.costs()


_CALLS = (_read, _recall, _retain, _forget, _export, _items, _info, _rebuild, _backup, _backfill)


def _list_holding(folder: Path, token: str) -> list[str]:
    """Return the files of the bank that hold a token. Another program reads them: see store/sqlite/raw_files."""
    found = subprocess.run(["grep", "-l", token, "-r", str(folder)], capture_output=True, text=True, check=False)
    return [name for name in map(os.path.basename, found.stdout.split()) if name.startswith(f"{_BANK}.")]


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 4, 64))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice((rng.randrange(len(data)), rng.randrange(len(data)) // _PAGE * _PAGE))]


def _swap(rng: random.Random, data: bytes) -> bytes:
    pages = _pages(data)
    one, other = rng.randrange(len(pages)), rng.randrange(len(pages))
    pages[one], pages[other] = pages[other], pages[one]
    return b"".join(pages)


def _zero(rng: random.Random, data: bytes) -> bytes:
    pages = _pages(data)
    pages[rng.randrange(len(pages))] = bytes(_PAGE)
    return b"".join(pages)


def _repeat(rng: random.Random, data: bytes) -> bytes:
    pages = _pages(data)
    pages[rng.randrange(len(pages))] = rng.choice(pages)
    return b"".join(pages)


def _noise(rng: random.Random, data: bytes) -> bytes:
    pages = _pages(data)
    pages[rng.randrange(len(pages))] = rng.randbytes(_PAGE)
    return b"".join(pages)


def _words(rng: random.Random, data: bytes) -> bytes:
    """Replace words by bytes that are not UTF-8, so that a row can be read and its text cannot."""
    return data.replace(
        rng.choice((b"saw zq", b"k-1", b"Ada", b"turn")), rng.choice((b"\xff\xfe", b"\0\0\0", b"")) * 3, 3
    )


def _pages(data: bytes) -> list[bytes]:
    return [data[at : at + _PAGE] for at in range(0, len(data), _PAGE)]


_WAYS: tuple[Callable[[random.Random, bytes], bytes], ...] = (_flip, _cut, _swap, _zero, _repeat, _noise, _words)
