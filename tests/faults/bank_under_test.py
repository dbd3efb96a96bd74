"""A bank that Hindsight works on while everything goes wrong, and what has to hold of it at every moment."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from conversation import COMPANY, FACTS, FIRST, LATER, MOVES, QUESTIONS, SAID, messages_of
from endpoint import STALL_S, Endpoint

from recollect import Memory
from recollect.domain.items import Item, ItemKind
from recollect.domain.jobs import JobRecord, JobState
from recollect.domain.links import Link
from recollect.errors import ModelError
from recollect.memory.bank import Bank
from recollect.models.languages.pydantic_ai import PydanticModel
from recollect.models.languages.settings import CallSettings
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder
from recollect.worker import WorkerSettings

NAME = "memory"
ALPHA = 0.15
START = datetime(2024, 7, 1, 12, tzinfo=UTC)
ROUNDS = 60
EXTRACT, REINFORCE, OBSERVE, REFLECT = (f"hindsight.{one}" for one in ("extract", "reinforce", "observe", "reflect"))
OPERATIONS = (EXTRACT, REINFORCE, OBSERVE, REFLECT)

_CALL = CallSettings(structured="schema", retries=0, corrections=0, timeout=30.0, tags=True)
_HASTY = CallSettings(structured="schema", retries=0, corrections=0, timeout=STALL_S / 8, tags=True)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def on(self, span: timedelta) -> None:
        self.now += span


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A call that went wrong on purpose, and what the caller of the model was told."""

    kind: str
    operation: str
    subject: str
    reply: str | None
    error: ModelError


class Faulty:
    """The real adapter to the endpoint; the next faults planned for an operation meet its next calls."""

    name = "faulty"

    def __init__(self, at: Endpoint, plan: dict[str, deque[str]]) -> None:
        self._at, self.plan = at, plan
        self._patient, self._hasty = (
            PydanticModel("openai:faulty", base_url=at.url, api_key="none", settings=settings)
            for settings in (_CALL, _HASTY)
        )
        self.hits: list[Hit] = []

    async def generate(self, prompt, answer_type, *, check=None):
        planned = self.plan.get(prompt.operation)
        if not planned:
            return await self._patient.generate(prompt, answer_type, check=check)
        kind, key = planned.popleft(), (prompt.operation, prompt.subject)
        self._at.faults[key] = kind
        model = self._hasty if kind == "timeout" else self._patient
        try:
            reply = await model.generate(prompt, answer_type, check=check)
        except ModelError as exc:
            self._at.faults.pop(key, None)  # a timeout may end here before the endpoint has read the request
            self.hits.append(Hit(kind=kind, operation=key[0], subject=key[1], reply=self._at.gave.get(key), error=exc))
            raise
        raise AssertionError(f"{kind} did nothing to {key}: {reply}")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Everything a bank holds, read through a connection of one's own."""

    messages: dict[str, tuple[str, str, str]]
    items: dict[str, Item]
    links: set[Link]
    mentions: set[tuple[str, str, str]]
    jobs: list[JobRecord]
    entities: dict[str, str]

    def of(self, kind: ItemKind, *, in_force: bool = False) -> list[Item]:
        return [
            item for item in self.items.values() if item.kind is kind and not (in_force and item.superseded is not None)
        ]

    def queued(self, id_: str) -> bool:
        return any(job.id == id_ for job in self.jobs)


async def seen_in(folder: Path) -> Seen:
    banks, embedder = SqliteFolder(folder), HashEmbedder()
    try:
        store = await banks.open(NAME, embedder=embedder.name, dimension=embedder.dimension, create=False)
        parts = [part async for part in store.dump()]
        names = {entity.id: entity.name for part in parts for entity in part.entities}
        return Seen(
            messages={m.id: (m.session, m.speaker, m.text) for m in await store.messages()},
            items={entry.item.id: entry.item for part in parts for entry in part.items},
            links={link for part in parts for link in part.links},
            mentions={(names[m.entity], m.item, m.surface) for part in parts for m in part.mentions},
            jobs=await store.jobs(),
            entities=names,
        )
    finally:
        await banks.close()


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was made of the conversation in the end, without what the order of the work may decide.

    Links to items of other sessions are left out: an item is linked to what was there before it.
    """

    messages: dict[str, tuple[str, str, str]]
    facts: dict[str, tuple[object, ...]]
    mentions: set[tuple[str, str, str]]
    links: set[Link]
    observations: dict[str, tuple[object, ...]]
    opinions: dict[str, tuple[object, ...]]


def made_of(seen: Seen) -> Made:
    facts = {item.id: item for item in seen.of(ItemKind.FACT)}
    return Made(
        messages=seen.messages,
        facts={id_: _told(item) for id_, item in facts.items()},
        mentions={mention for mention in seen.mentions if mention[1] in facts},
        links={
            link
            for link in seen.links
            if {link.source, link.target} <= facts.keys() and facts[link.source].session == facts[link.target].session
        },
        observations={item.id: _told(item) for item in seen.of(ItemKind.OBSERVATION, in_force=True)},
        opinions={item.session: _held(item, seen) for item in seen.of(ItemKind.OPINION, in_force=True)},
    )


def _told(item: Item) -> tuple[object, ...]:
    return (item.text, item.session, item.sources, item.occurrences, item.network, item.derived_from, item.superseded)


def _held(last: Item, seen: Seen) -> tuple[object, ...]:
    steps = [item for item in seen.of(ItemKind.OPINION) if item.session == last.session]
    moved = frozenset((step.id.rpartition(":")[2], frozenset(_evidence(step, seen))) for step in steps)
    return last.text, round(last.confidence or 0.0, 6), moved, frozenset(last.sources)


def _evidence(step: Item, seen: Seen) -> list[str]:
    return [id_ for id_ in step.derived_from if seen.items[id_].kind is ItemKind.FACT]


# What holds at every moment.


@dataclass
class Watch:
    """Looks at a bank again and again; ``truth`` is what a run without faults makes of the conversation."""

    folder: Path
    assert_sound: Callable[..., None]
    truth: Made | None = None
    kept: set[str] = field(default_factory=set)
    looks: int = 0

    async def look(self) -> Seen:
        self.looks += 1
        self.assert_sound(self.folder / f"{NAME}.bank")
        seen = await seen_in(self.folder)
        self._nothing_is_lost(seen)
        self._observations_are_whole(seen)
        self._trajectories_hold(seen)
        if self.truth is not None:
            self._facts_are_whole(seen, self.truth)
            self._what_is_missing_is_queued(seen, self.truth)
        return seen

    def _nothing_is_lost(self, seen: Seen) -> None:
        """Every message that was acknowledged is there, word for word."""
        said = {
            message.id: (session, message.speaker, message.text) for session in SAID for message in messages_of(session)
        }
        assert {id_: seen.messages.get(id_) for session in self.kept for id_ in _ids(session)} == {
            id_: said[id_] for session in self.kept for id_ in _ids(session)
        }
        assert seen.messages.items() <= said.items()

    def _facts_are_whole(self, seen: Seen, truth: Made) -> None:
        """The facts of a chunk are there with all their mentions and links, or none is."""
        present = made_of(seen)
        for session in SAID:
            ids = {id_ for id_, fact in truth.facts.items() if fact[1] == session}
            there = {id_ for id_, fact in present.facts.items() if fact[1] == session}
            assert there in (set(), ids), f"some facts of {session}, but not all"
            if there:
                assert {id_: present.facts[id_] for id_ in ids} == {id_: truth.facts[id_] for id_ in ids}
                assert {m for m in present.mentions if m[1] in ids} == {m for m in truth.mentions if m[1] in ids}
                assert {k for k in present.links if k.source in ids} == {k for k in truth.links if k.source in ids}
            if session == "s1":
                voiced = [item for item in seen.of(ItemKind.OPINION) if item.sources == ("s1-1",)]
                assert len(voiced) == bool(there), "the opinion that was voiced comes with the facts"

    def _observations_are_whole(self, seen: Seen) -> None:
        """Each time an entity was observed gave three observations; those in force are of one time."""
        times = Counter(item.id.rpartition(":")[0] for item in seen.of(ItemKind.OBSERVATION))
        assert set(times.values()) <= {3}
        mentions = Counter(item for _, item, _ in seen.mentions)
        for item in seen.of(ItemKind.OBSERVATION):
            assert mentions[item.id] == 1
            assert set(item.derived_from) <= seen.items.keys()
        in_force: dict[str, set[str]] = {}
        for item in seen.of(ItemKind.OBSERVATION, in_force=True):
            in_force.setdefault(item.session, set()).add(item.id)
        for entity, ids in in_force.items():
            assert len(ids) == 3, f"the observations of {seen.entities[entity]} are half replaced"
            assert len({id_.rpartition(":")[0] for id_ in ids}) == 1

    def _trajectories_hold(self, seen: Seen) -> None:
        """Steps are numbered without gaps, all but the last are superseded, confidence moves as equation 26 says."""
        steps: dict[str, list[Item]] = {}
        for item in seen.of(ItemKind.OPINION):
            steps.setdefault(item.session, []).append(item)
        for opinion, taken in steps.items():
            taken.sort(key=lambda item: item.order)
            assert [item.order for item in taken] == list(range(len(taken))), opinion
            assert [item.superseded is None for item in taken] == [False] * (len(taken) - 1) + [True]
            evidence = [id_ for item in taken for id_ in _evidence(item, seen)]
            assert len(set(evidence)) == len(evidence), "a fact has moved an opinion twice"
            for before, after in pairwise(taken):
                assert after.derived_from[0] == before.id
                assert after.confidence == _moved(before.confidence, after.id.rpartition(":")[2])

    def _what_is_missing_is_queued(self, seen: Seen, truth: Made) -> None:
        """What is to be derived of what is there is derived, or a job for it waits, runs or is dead."""
        facts = seen.of(ItemKind.FACT)
        for session in {session for session, _, _ in seen.messages.values()}:
            assert any(fact.session == session for fact in facts) or seen.queued(f"{EXTRACT}:{session}")
        held = seen.of(ItemKind.OPINION, in_force=True)
        for fact in facts:
            for opinion in held:
                if _bears(fact, opinion) and not _has_moved(fact, opinion, seen):
                    assert seen.queued(f"{REINFORCE}:{fact.id}"), f"{fact.text} was never held against {opinion.text}"
        for entity, name in seen.entities.items():
            about = {item for called, item, _ in seen.mentions if called == name and item in truth.facts}
            told = {
                id_
                for item in seen.of(ItemKind.OBSERVATION, in_force=True)
                if item.session == entity
                for id_ in item.derived_from
            }
            assert len(about) < 3 or about == told or seen.queued(f"{OBSERVE}:{entity}"), f"{name} is not observed"


def _ids(session: str) -> list[str]:
    return [message.id for message in messages_of(session)]


def _moved(confidence: float, assessment: str) -> float:
    """Equation 26, written out anew."""
    match assessment:
        case "reinforce":
            return min(confidence + ALPHA, 1.0)
        case "weaken":
            return max(confidence - ALPHA, 0.0)
        case "contradict":
            return max(confidence - 2 * ALPHA, 0.0)
    raise AssertionError(f"nobody has said {assessment} here")


def _bears(fact: Item, opinion: Item) -> bool:
    moves = next((moves for words, moves in MOVES.items() if words in fact.text), {})
    return any(words in opinion.text for words in moves)


def _has_moved(fact: Item, opinion: Item, seen: Seen) -> bool:
    steps = [item for item in seen.of(ItemKind.OPINION) if item.session == opinion.session]
    return any(fact.id in item.derived_from for item in steps)


# What is done with it.


@asynccontextmanager
async def opened(folder: Path, model: object, clock: Clock, **more: object) -> AsyncIterator[Bank]:
    worker = WorkerSettings(automatic=False, attempts=2, concurrency=3)
    settings = {"embedder": HashEmbedder(), "worker": worker, **more}
    async with Memory.open(folder, recipe="hindsight", model=model, clock=clock, **settings) as memory:
        yield await memory.bank(NAME)


class Life:
    """The whole conversation: kept, worked on until nothing waits, reflected on; looked at after each step.

    ``told`` is called with what a step has shown: the lines of a drain, or the error that reflecting raised.
    """

    def __init__(self, bank: Bank, clock: Clock, watch: Watch) -> None:
        self._bank, self._clock, self._watch = bank, clock, watch
        self.rounds = 0

    async def told(self, seen: Seen, lines: Sequence[str], error: ModelError | None = None) -> None:
        """For tests to look at."""

    async def all(self) -> None:
        for sessions, question in zip((FIRST, LATER), QUESTIONS, strict=True):
            for session in sessions:
                await self._kept(session)
            await self._worked_off()
            await self._reflected(question)

    async def _kept(self, session: str) -> None:
        receipt = await self._bank.retain(messages_of(session), session=session)
        assert len(receipt.messages) + receipt.skipped == len(SAID[session])
        self._watch.kept.add(session)
        await self._watch.look()

    async def _worked_off(self) -> None:
        for _ in range(ROUNDS):
            self.rounds += 1
            lines = await self._bank.run_jobs()
            seen = await self._watch.look()
            await self.told(seen, lines)
            if not seen.jobs:
                return
            self._clock.on(timedelta(hours=30))
            for job in seen.jobs:
                if job.state is JobState.DEAD:
                    await self._bank.retry_job(job.id)
        raise AssertionError(f"there is still work after {ROUNDS} rounds: {seen.jobs}")

    async def _reflected(self, question: str) -> None:
        for _ in range(ROUNDS):
            before = await seen_in(self._watch.folder)
            if any(QUESTIONS[question] in item.text for item in before.of(ItemKind.OPINION)):
                return
            try:
                answer = await self._bank.reflect(question)
            except ModelError as exc:
                seen = await self._watch.look()
                assert seen.items == before.items, "an answer that failed has left something behind"
                await self.told(seen, (), exc)
                self._clock.on(timedelta(hours=30))
            else:
                assert len(answer.opinions) == 1
                await self._watch.look()
                return
        raise AssertionError(f"{question} was not answered in {ROUNDS} attempts")


_truth: list[Made] = []


async def truth(at: Endpoint, folder: Path, assert_sound: Callable[..., None]) -> Made:
    """What a run without faults makes of the conversation; made once in each process."""
    if not _truth:
        clock, watch = Clock(), Watch(folder=folder, assert_sound=assert_sound)
        async with opened(folder, Faulty(at, {}), clock) as bank:
            await Life(bank, clock, watch).all()
        made = made_of(await watch.look())
        require_sense(made)
        _truth.append(made)
    return _truth[0]


def require_sense(made: Made) -> None:
    """What the run without faults makes is what the conversation holds: else equal to it would mean nothing."""
    voiced = sum(fact["type"] == "opinion" for facts in FACTS.values() for fact in facts)
    assert len(made.facts) == sum(map(len, FACTS.values())) - voiced
    assert len(made.observations) == 6  # of Ada and of Toby; there are too few facts on the others
    confidences = {
        next(w for w in (COMPANY, *QUESTIONS.values()) if w in one[0]): one[1] for one in made.opinions.values()
    }
    assert confidences == {COMPANY: 0.45, "reason to go out": 0.4, "better home": 0.7}
    assert sum(link.kind.value == "causal" for link in made.links) == 3
