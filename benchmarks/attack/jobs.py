"""Jobs of every recipe are killed again and again; in the end the bank has to be the same as without kills."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks.attack.answers import make_model
from benchmarks.attack.bank_model import Effect, FolderModel
from benchmarks.attack.inspection import check_folder
from benchmarks.attack.material import Said
from benchmarks.attack.memories import open_memory
from benchmarks.attack.processes import BOUND_S, STARTED, Kill, Outcome, Tell, Work, call_in_child, run_children
from benchmarks.attack.rounds import BEGAN, BROKE, COMMITS, DONE, StatementTrace
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect.domain.items import ItemKind
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.recmem.settings import ConsolidateSettings, Recurrence
from recollect.methods.remem.indexer import Indexer
from recollect.methods.remem.settings import IndexSettings
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.recipes import Recipe, get_recipe
from recollect.retain.encode import EncodeSettings
from recollect.retain.segments import SegmentSettings

_BANK = "jobs"
_START = datetime(2024, 7, 1, 12, tzinfo=UTC)
_MOST_ROUNDS = 400
_TOPICS = (
    "Toby the beagle chewed the {} shoes",
    "The choir sings on {} evening again",
    "I think Ada likes the {} bread of Leeds",
    "Ben and Ada walked along the {} river again",
)
_COLOURS = ("brown", "red", "blue", "green", "white", "black")


def _make_recipes() -> dict[str, Recipe]:
    """Return the recipes, with small parts, so that each makes several jobs of a short conversation."""
    units = partial(
        UnitConsolidator,
        settings=ConsolidateSettings(recurrence=Recurrence(theta_sim=0.5, theta_count=2), patience=10**6),
    )
    reader = partial(Indexer, settings=IndexSettings(chunk_tokens=120, chunks=1, theta_syn=0.6))
    segments = partial(make_turn_encoder, settings=EncodeSettings(segments=SegmentSettings(length=200, overlap=12)))
    return {
        "hindsight": get_recipe("hindsight"),
        "remem": replace(get_recipe("remem"), consolidate=(reader,)),
        "remem_single": replace(get_recipe("remem_single"), consolidate=(reader,)),
        "memr3": get_recipe("memr3"),
        "emem": replace(get_recipe("emem"), encode=segments),
        "recmem": replace(get_recipe("recmem"), consolidate=(units,)),
        "default": replace(get_recipe("default"), consolidate=(units,)),
    }


RECIPES = _make_recipes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Retain a conversation, and do all jobs. ``now`` is the time of this process."""

    folder: Path
    recipe: str
    sessions: Mapping[str, Sequence[Said]]
    now: datetime
    statement: int | None = None

    def do(self, tell: Tell) -> None:
        """Do what is still to be done. Call it in a child."""
        trace = StatementTrace(tell) if self.statement else None
        if trace is not None:
            trace.arm(self.statement)
        asyncio.run(self._do(tell))

    async def _do(self, tell: Tell) -> None:
        memory = open_memory(self.folder, recipe=RECIPES[self.recipe], model=make_model(), clock=lambda: self.now)
        async with memory:
            bank = await memory.bank(_BANK)
            there = {one.id for one in await bank.messages()}
            for session, said in self.sessions.items():
                if said[0].id not in there:
                    tell(BEGAN, Effect(bank=_BANK, adds={one.id: one for one in said}))
                    await bank.retain([one.to_message() for one in said], session=session)
                    tell(DONE, None)
            for job in await bank.jobs("dead"):  # its workers were killed each time it was tried
                tell("retried", job.kind)
                await bank.retry_job(job.id)
            for line in await bank.run_jobs():
                tell("failed", line)
            left = [(job.kind, job.state.value, job.error) for job in await bank.jobs()]
            tell("left", left)


class Jobs:
    """kill -9 during the jobs of every recipe, and then forgetting what they have derived."""

    name = "jobs"
    share = Budget(kills=38)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        each = min(30, -(-budget.kills // len(RECIPES)))
        while tally.kills < budget.kills:
            for recipe in RECIPES:
                if tally.kills >= budget.kills:
                    break
                number = rng.randrange(2**32)
                at = folder / f"{recipe}-{number}"
                tally += _attack_recipe(recipe, number, at, min(each, budget.kills - tally.kills))
        return tally


def _attack_recipe(recipe: str, seed: int, folder: Path, kills: int) -> Tally:
    rng = random.Random(seed)
    sessions = _make_conversation(rng)
    life = Life(folder=folder / "plain", recipe=recipe, sessions=sessions, now=_START)
    plain, tally = _live_without_kills(life, seed)
    killed = replace(life, folder=folder / "killed")
    model = FolderModel()
    tally += _live_with_kills(killed, model, rng, seed, kills if RECIPES[recipe].consolidate else min(kills, 5))
    tally += _compare(recipe, plain, _read_contents(killed), seed)
    return tally + _forget(killed, model, rng, seed)


def _live_without_kills(life: Life, seed: int) -> tuple[Counter[str], Tally]:
    (outcome,) = run_children([Work(do=life.do)])
    for _ in range(5):  # jobs that others have caused with a delay
        life = replace(life, now=life.now + timedelta(days=1))
        (outcome,) = run_children([Work(do=life.do)])
    return _read_contents(life), Tally(findings=tuple(_problems(life.recipe, outcome, seed)))


def _live_with_kills(life: Life, model: FolderModel, rng: random.Random, seed: int, kills: int) -> Tally:
    tally = Tally()
    for number in range(_MOST_ROUNDS):
        kill, statement = _draw_kill(rng) if tally.kills < kills else (None, None)
        round_ = replace(life, now=_START + timedelta(days=number), statement=statement)
        (outcome,) = run_children([Work(do=round_.do, kill=kill)])
        doubtful = _settle(outcome, model)
        findings = [*outcome.findings(seed), *check_folder(life.folder, model, doubtful, seed)]
        tally += Tally(
            kills=int(outcome.killed),
            operations=len(outcome.values(DONE)) + 1,
            findings=tuple(findings),
            details=Counter(f"{kind} was dead after kills, and tried again" for kind in outcome.values("retried")),
        )
        if not outcome.killed and outcome.values("left") == [[]]:
            return tally
        if tally.kills >= kills and number > kills + 20:
            break
    return tally + Tally(findings=tuple(_problems(life.recipe, outcome, seed)))


def _draw_kill(rng: random.Random) -> tuple[Kill, int | None]:
    if rng.random() < 0.5:
        return Kill(after_s=rng.uniform(0.005, 0.15), trigger=STARTED), None
    return Kill(after_s=rng.choice((0.0, rng.uniform(0, 0.003))), trigger=COMMITS), rng.randrange(5, 120)


def _settle(outcome: Outcome, model: FolderModel) -> list[Effect]:
    pending: Effect | None = None
    for event in outcome.events:
        if event.name == BEGAN:
            pending = event.value
        elif event.name == DONE and pending is not None:
            model.apply(pending)
            pending = None
    return [] if pending is None else [pending]


def _problems(recipe: str, outcome: Outcome, seed: int) -> list[Finding]:
    """Return the jobs that have not ended although nothing fails any more."""
    findings = outcome.findings(seed)
    if any(outcome.values("left")):
        what = f"{recipe}: jobs that never end: {outcome.values('left')} {outcome.values('failed')}"
        findings.append(Finding(broken=Broken.STUCK, seed=seed, what=what))
    return findings


def _compare(recipe: str, plain: Counter[str], there: Counter[str], seed: int) -> Tally:
    if plain == there:
        return Tally(details={f"{recipe}: the same bank": 1})
    missing, more = list((plain - there).elements()), list((there - plain).elements())
    what = f"{recipe}: another bank. Missing: {missing[:4]}. More: {more[:4]}"
    return Tally(
        details={f"{recipe}: another bank": 1}, findings=(Finding(broken=Broken.UNEXPLAINED, seed=seed, what=what),)
    )


def _read_contents(life: Life) -> Counter[str]:
    there, outcome = call_in_child(lambda: asyncio.run(_contents(life)))
    if there is None:
        raise RuntimeError(f"the bank cannot be read: {outcome.errors}")
    return there


async def _contents(life: Life) -> Counter[str]:
    """Return the items of the bank, without what the order of the work and the times of the processes decide.

    The order decides which facts were held against an opinion: each fact meets the opinions that there are when its
    turn comes. Two runs without a kill differ in this too, if one does the jobs after every session.
    """
    async with open_memory(life.folder, recipe=RECIPES[life.recipe]) as memory:
        bank = await memory.bank(_BANK)
        items = await bank.items(*ItemKind)
        texts = {one.id: one.text for one in await bank.messages()}
        contents: Counter[str] = Counter()
        for item in items:
            sources = [] if item.kind is ItemKind.OPINION else sorted(texts[one] for one in item.sources)
            contents[f"{item.kind} {item.label} {item.network} {item.text!r} {sources}"] += 1
        return contents


def _forget(life: Life, model: FolderModel, rng: random.Random, seed: int) -> Tally:
    """Forget some messages, let the jobs derive the rest again, and look for the forgotten words."""
    bank = model.banks.get(_BANK)
    if bank is None:
        return Tally()
    ids = sorted(rng.sample(sorted(bank.said), len(bank.said) // 3))
    effect = Effect(bank=_BANK, removes=frozenset(ids))

    def do(tell: Tell) -> None:
        asyncio.run(_forget_in(life, ids, tell))

    (outcome,) = run_children([Work(do=do)], bound_s=BOUND_S)
    model.apply(effect)
    findings = outcome.findings(seed)
    findings += [
        Finding(broken=Broken.LEFT, seed=seed, what=f"{life.recipe}: {what}") for what in outcome.values(BROKE)
    ]
    (again,) = run_children([Work(do=replace(life, sessions={}, now=_START + timedelta(days=900)).do)])
    findings += _problems(life.recipe, again, seed)
    for finding in check_folder(life.folder, model, [], seed):
        findings.append(replace(finding, what=f"{life.recipe}: {finding.what}"))
    return Tally(operations=2, findings=tuple(findings))


async def _forget_in(life: Life, ids: Sequence[str], tell: Tell) -> None:
    now = _START + timedelta(days=800)
    memory = open_memory(life.folder, recipe=RECIPES[life.recipe], model=make_model(), clock=lambda: now)
    async with memory:
        receipt = await (await memory.bank(_BANK)).forget(messages=ids)
        if not receipt.verified:
            tell(BROKE, f"forget is not verified: {receipt.leftovers}")


def _make_conversation(rng: random.Random) -> dict[str, list[Said]]:
    sessions: dict[str, list[Said]] = {}
    for number in range(4):
        session = f"k-{number}"
        sessions[session] = [_make_said(rng, session, number, at) for at in range(6)]
    return sessions


def _make_said(rng: random.Random, session: str, day: int, minute: int) -> Said:
    token = f"zq{rng.randrange(10**12):012d}"
    topic = rng.choice(_TOPICS)
    return Said(
        id=f"m{token}",
        session=session,
        speaker="Iris" if topic.startswith("I think") else "Ada",
        text=f"{topic.format(rng.choice(_COLOURS))}, and {token}.",
        token=token,
        at=_START - timedelta(days=30 - day) + timedelta(minutes=minute),
    )
