"""Observe entities: summarize the facts about each entity (Hindsight, section 4.1.5, equation 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recollect.answering.evidence import render_with_times
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import Entity
from recollect.domain.items import Item, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.time import add_seconds
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.replies import MOST_OBSERVATIONS, ExtractedObservation, Observations
from recollect.methods.hindsight.settings import ObserveSettings
from recollect.models.language import ModelRole, Prompt
from recollect.ports import Derive
from recollect.retain.directory import hash_short
from recollect.retain.embed import text_to_embed
from recollect.retain.index_items import ItemDraft, index_items
from recollect.store.protocol import StoreReader
from recollect.text.fencing import DATA_RULE, fence_text

KIND: Final = "hindsight.observe"
FEWEST_FACTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationBasis:
    """The facts behind the observations of an entity: its newest facts, the oldest first.

    ``has_more`` is true if older facts were left out.

    ``id`` is equal for equal facts with equal texts. Observations contain it in their own ids.
    """

    entity: Entity
    facts: tuple[Item, ...]
    has_more: bool

    @property
    def id(self) -> str:
        told = (part for fact in self.facts for part in (fact.id, fact.text))
        return f"observation:{hash_short(self.entity.id, *told)}"

    def is_basis_of(self, item: Item) -> bool:
        """Return true if an observation was made from exactly these facts."""
        return item.id.rpartition(":")[0] == self.id


class Observer:
    """Observes an entity again when its facts change. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies, settings: ObserveSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ObserveSettings()

    @property
    def kind(self) -> str:
        return KIND

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return a job for each entity that new facts mention. It is due after no new fact has come for some time."""
        sources = {entry.item.id: entry.item.sources for entry in changes.items if entry.item.kind is ItemKind.FACT}
        entities: dict[str, dict[str, None]] = {}
        for mention in changes.mentions:
            if mention.item in sources:
                entities.setdefault(mention.entity, {}).update(dict.fromkeys(sources[mention.item]))
        due = add_seconds(now, self._settings.debounce_s)
        return tuple(_make_job(entity, tuple(messages), due) for entity, messages in entities.items())

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Observe the entity of the job. The new observations supersede the earlier ones.

        An entity with few facts, or with observations of exactly these facts, needs no call.
        """
        basis = await self._load_basis(job.payload, reader)
        reply = None if basis is None else await self._ask_model(basis)

        async def derive(reader: StoreReader) -> Changeset:
            if basis is None or reply is None:
                return Changeset()
            changes = await self._derive(basis, reply, reader, now)
            return Changeset(jobs=(_make_job(job.payload, job.messages, now),)) if changes is None else changes

        return derive

    async def _load_basis(self, entity_id: str, reader: StoreReader) -> ObservationBasis | None:
        """Return the facts to observe, or ``None`` if there is nothing to do."""
        entities = await reader.entities([entity_id])
        found = await reader.items_of([ItemKind.FACT], entity=entity_id, limit=self._settings.facts + 1)
        if not entities or len(found) < self._settings.min_facts:
            return None
        facts = tuple(reversed(found[: self._settings.facts]))
        basis = ObservationBasis(entity=entities[0], facts=facts, has_more=len(found) > len(facts))
        current = await reader.items_of([ItemKind.OBSERVATION], entity=entity_id)
        return None if any(map(basis.is_basis_of, current)) else basis

    async def _ask_model(self, basis: ObservationBasis) -> Observations:
        reply = await self._parts.model.generate(
            build_observation_prompt(basis),
            Observations,
            check=lambda reply: check_observations(reply, len(basis.facts), self._settings.few),
        )
        return reply.value

    async def _derive(
        self, basis: ObservationBasis, reply: Observations, reader: StoreReader, now: datetime
    ) -> Changeset | None:
        """Return the changes that store the observations, or ``None`` if a fact in the prompt was forgotten or
        superseded.
        """
        facts = await reader.items([fact.id for fact in basis.facts])
        if {one.id: one.text for one in facts if one.superseded is None} != {one.id: one.text for one in basis.facts}:
            return None
        before = await reader.items_of([ItemKind.OBSERVATION], entity=basis.entity.id)
        items = [
            _make_item(observed, n, basis, self._settings.sources, now) for n, observed in enumerate(reply.observations)
        ]
        name = (basis.entity.name, basis.entity.kind)
        changes = await index_items(
            [ItemDraft(item=item, embedded=text_to_embed(item), names=(name,)) for item in items],
            embedder=self._parts.embedder,
            reader=reader,
            names=self._parts.names,
            links=self._settings.links,
            resolve=self._settings.resolve,
        )
        return replace(changes, supersedes=find_superseded(before, items, now))


def check_observations(reply: Observations, facts: int, few: int) -> None:
    """Check a reply against the facts in the prompt.

    Raises:
        ValueError: a number belongs to no fact, or there are too few observations for the number of facts.
    """
    for observed in reply.observations:
        if max(observed.facts) > facts:
            raise ValueError(f"there is no fact {max(observed.facts)}; they are numbered 1 to {facts}")
    if facts > few and len(reply.observations) < FEWEST_FACTS:
        raise ValueError(
            f"{facts} facts hold more than {len(reply.observations)} observations; give at least {FEWEST_FACTS}"
        )


def _make_item(
    observed: ExtractedObservation, n: int, basis: ObservationBasis, most_sources: int, now: datetime
) -> Item:
    facts = [basis.facts[number - 1] for number in dict.fromkeys(observed.facts)]
    sources = dict.fromkeys(source for fact in facts for source in fact.sources)
    return Item(
        id=f"{basis.id}:{n}",
        kind=ItemKind.OBSERVATION,
        text=observed.text.strip(),
        # An entity is to its observations what a session is to its turns: they stand in it one after the other.
        session=basis.entity.id,
        speaker=facts[0].speaker,
        sources=tuple(sources)[:most_sources],
        mentioned=max(fact.mentioned for fact in facts),
        recorded=now,
        order=n,
        derived_from=tuple(fact.id for fact in facts),
    )


def find_superseded(before: Sequence[Item], items: Sequence[Item], now: datetime) -> tuple[Supersession, ...]:
    """Return the supersessions of earlier observations. Each is superseded by the new one that shares most of its
    facts.

    If the new observation is later forgotten with its facts, the earlier one is valid again.
    """
    new = {item.id for item in items}
    return tuple(
        Supersession(item=old.id, by=_find_successor(old, items), at=now) for old in before if old.id not in new
    )


def _find_successor(old: Item, items: Sequence[Item]) -> str | None:
    shared = {item.id: len(set(item.derived_from) & set(old.derived_from)) for item in items}
    best = max(shared, key=lambda id_: shared[id_], default=None)
    return best if best is not None and shared[best] else None


def _make_job(entity: str, messages: Sequence[str], due: datetime) -> Job:
    return Job(id=f"{KIND}:{entity}", kind=KIND, payload=entity, messages=tuple(messages), due=due)


_SYSTEM: Final = f"""You write down what is known of one person, place or thing, from the facts that a memory holds.

Give {FEWEST_FACTS} to {MOST_OBSERVATIONS} observations; where there are few facts, give fewer. \
An observation is one or two \
sentences in the third person that name their subject and can be understood by themselves. Between them they say who \
or what it is: identity, roles and relations, traits that facts show, habits and activities, plans, what has changed.

- Put facts that belong together into one observation; do not retell the facts one by one.
- Say only what the facts bear out. No guesses ("probably", "seems"), no praise or blame, no view of your own: \
somebody of any temper would put it the same way. What people think or like is told as theirs.
- Keep names, numbers and dates. Say since when or when, where that is known.
- Where facts contradict each other, take what was said later, or what most of them say, and mention the change where \
it tells something.
- Leave aside facts that only mention the subject in passing. Facts in the first person tell what the agent did \
whose memory this is; call it by its name.
- facts: the numbers of the facts that the observation rests on, those that say most first, at most eight.

{DATA_RULE}"""


def build_observation_prompt(basis: ObservationBasis) -> Prompt:
    """Return the prompt with an entity and its facts. Facts are numbered from 1."""
    lines = [f"[{number}] {render_with_times(fact)}" for number, fact in enumerate(basis.facts, start=1)]
    count = len(basis.facts)
    note = " Earlier ones are left out." if basis.has_more else ""
    return Prompt(
        role=ModelRole.CONSOLIDATE,
        operation=KIND,
        subject=basis.entity.name,
        system=_SYSTEM,
        text=(
            f"{fence_text('entity', f'{basis.entity.name} ({basis.entity.kind.value})')}\n\n"
            f"{fence_text('facts', chr(10).join(lines))}\n\n"
            f"There {'is 1 fact' if count == 1 else f'are {count} facts'}, the oldest first.{note}"
        ),
    )
