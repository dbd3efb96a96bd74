"""Consolidate on recurrence (RecMem, sections 3.3 and 3.4): merge first, or else cluster, write episodes and facts.

One job at a time examines all of a bank's units in the order in which they were stored. A unit is compared only with
the units that were stored before it. So the result is the same whether messages came singly or in a batch. There is one
exception: an answer may come after the message that it answers was examined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recollect.domain.changes import Changeset, Supersession
from recollect.domain.items import Item, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.links import Link, LinkKind
from recollect.domain.time import add_seconds
from recollect.errors import InvalidReply, NoAnswer
from recollect.methods.dependencies import Dependencies
from recollect.methods.recmem.calibration import choose_recurrence
from recollect.methods.recmem.episodes import (
    EpisodesReply,
    MergeReply,
    build_episodes_prompt,
    build_merge_prompt,
    check_episodes,
    make_episodes,
    merge_into_episode,
)
from recollect.methods.recmem.recurrence import (
    consolidation_reason,
    has_untold_messages,
    is_merge_candidate,
    is_promotion,
    select_cluster,
    select_relevant,
)
from recollect.methods.recmem.refinement import FactsReply, build_refine_prompt, check_facts, is_known, make_facts
from recollect.methods.recmem.settings import ConsolidateSettings, Recurrence
from recollect.methods.recmem.units import (
    Unit,
    Vector,
    add_context,
    find_candidates,
    find_nearest,
    find_salience_of,
    find_told_messages,
    load_units,
)
from recollect.ports import Derive
from recollect.retain.directory import hash_short
from recollect.retain.embed import text_to_embed
from recollect.retain.index_items import ItemDraft, index_items
from recollect.store.protocol import StoreReader
from recollect.text.names import find_names

KIND: Final = "recmem.consolidate"
CONSOLIDATES_ROLE: Final = "consolidates"
"""The label of the links from an episode to its turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationCase:
    """A unit that needs a model. It may belong to an ``episode``, or there is a reason (``label``) for a new episode.

    ``cluster`` are the units for a new episode, in order of time. The unit itself is one of them.
    """

    unit: Unit
    episode: Item | None
    label: str | None
    is_promoted: bool
    cluster: tuple[Unit, ...]

    @property
    def required(self) -> int | None:
        """Return the number of the unit in its cluster if an episode must tell of it, or else ``None``."""
        return [unit.id for unit in self.cluster].index(self.unit.id) + 1 if self.is_promoted else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """The items that a model wrote for a :class:`ConsolidationCase`, and the older items that they replace.

    ``replaced`` has the id of the new item for the id of each older one. ``shown_units`` are the units and ``items``
    the items that a model saw. ``fresh`` are the units that were in no episode before.
    """

    new_items: tuple[Item, ...]
    replaced: dict[str, str]
    shown_units: tuple[Unit, ...]
    items: tuple[Item, ...]
    fresh: tuple[Unit, ...] = ()


class UnitConsolidator:
    """Examines new units, and has a model write memory of what recurs. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies, settings: ConsolidateSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ConsolidateSettings()

    @property
    def kind(self) -> str:
        return KIND

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return a job for the new messages. It is due when no message has come for a while.

        If one of the messages must not be lost, the job is due at once.
        """
        urgent = any(message.important or find_salience_of(message) for message in changes.messages)
        due = None if urgent else add_seconds(now, self._settings.settle_s)
        return _make_jobs({KIND: [message.id for message in changes.messages]}, due)

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Examine the job's units up to the first that needs a model, and call the model.

        The next job gets the other units. A unit on which models fail repeatedly gets a separate job. That job fails
        without the other units.

        Raises:
            ModelError: a model failed.
        """
        case, rest = await self._find_case(job, reader)
        case = None if case is None else await _add_context(case, reader)
        outcome, aside = (None, ()) if case is None else await self._try_case(case, job, reader, now)
        later = {job.id: frozenset(rest), _make_aside_id(aside): frozenset(aside)}

        async def derive(reader: StoreReader) -> Changeset:
            left = [message.id for message in await reader.messages(job.messages)]
            if outcome is not None and not await _is_still_valid(outcome, reader):
                return Changeset(
                    jobs=_make_jobs({job.id: left}, now)
                )  # the result is dropped, the unit is examined again
            jobs = _make_jobs({id_: [one for one in left if one in some] for id_, some in later.items()}, now)
            if outcome is None:
                return Changeset(jobs=jobs)
            return replace(await self._derive(outcome, reader, now), jobs=jobs)

        return derive

    async def _find_case(self, job: Job, reader: StoreReader) -> tuple[ConsolidationCase | None, Sequence[str]]:
        """Return the job's first unit that needs a model, if any, and the ids of the messages for the next job."""
        batch = job.messages[: self._settings.units]
        units = await load_units(await reader.messages(batch), reader)
        recurrence = await choose_recurrence(reader, self._settings)
        vectors = await reader.vectors(unit.id for unit in units)
        for at, unit in enumerate(units):
            case = await _classify_unit(unit, vectors[unit.id], reader, recurrence) if unit.id in vectors else None
            if case is not None:
                done = {source for looked in units[: at + 1] for source in looked.item.sources}
                return case, [id_ for id_ in job.messages if id_ not in done]
        return None, job.messages[len(batch) :]

    async def _try_case(
        self, case: ConsolidationCase, job: Job, reader: StoreReader, now: datetime
    ) -> tuple[ConsolidationResult | None, tuple[str, ...]]:
        """Return the models' result for a case. If they have failed often enough, return its messages, to be set aside.

        Raises:
            ModelError: a model failed, and the call is to be repeated.
        """
        aside = case.unit.item.sources
        if job.id == KIND and job.attempts > self._settings.patience:  # another cause, such as calls that never end
            return None, aside
        try:
            return await self._resolve_case(case, reader, now), ()
        except (InvalidReply, NoAnswer):
            if job.id != KIND or job.attempts < self._settings.patience:
                raise
            return None, aside

    async def _resolve_case(
        self, case: ConsolidationCase, reader: StoreReader, now: datetime
    ) -> ConsolidationResult | None:
        """Merge first (equation 6). If the unit is not merged, write episodes and their facts."""
        merged = None if case.episode is None else await self._merge_unit(case.unit, case.episode, now)
        if merged is not None or case.label is None:
            return merged
        return await self._make_episodes(case, case.label, reader, now)

    async def _merge_unit(self, unit: Unit, episode: Item, now: datetime) -> ConsolidationResult | None:
        """Return the episode with the unit in it, or ``None`` if the unit does not belong there."""
        reply = await self._parts.model.generate(
            build_merge_prompt(episode, unit, self._settings.characters), MergeReply
        )
        if not reply.value.merge:
            return None
        item = merge_into_episode(episode, reply.value.episode, unit, now=now)
        return ConsolidationResult(
            new_items=(item,), replaced={episode.id: item.id}, shown_units=(unit,), items=(episode,)
        )

    async def _make_episodes(
        self, case: ConsolidationCase, label: str, reader: StoreReader, now: datetime
    ) -> ConsolidationResult:
        """Write episodes of a cluster (equation 7), and the facts that each of them leaves out (equations 8 and 9)."""
        prompt = build_episodes_prompt(case.cluster, required=case.required, characters=self._settings.characters)
        reply = await self._parts.model.generate(
            prompt, EpisodesReply, check=lambda told: check_episodes(told, len(case.cluster), required=case.required)
        )
        episodes: list[Item] = []
        facts: list[Item] = []
        old: dict[str, Item] = {}
        replaced: dict[str, str] = {}
        for episode, units in make_episodes(reply.value, case.cluster, label=label, now=now):
            stored = await self._load_nearest_facts(episode, reader)
            new = await self._extract_facts(episode, units, [*stored, *facts], len(facts), now)
            episodes.append(episode)
            facts += [fact for fact, _ in new]
            old |= {fact.id: fact for fact in stored}
            for fact, gone in new:
                for id_ in gone:
                    replaced.setdefault(id_, fact.id)
        return ConsolidationResult(
            new_items=(*episodes, *facts),
            replaced=replaced,
            shown_units=case.cluster,
            items=tuple(old.values()),
            fresh=case.cluster,
        )

    async def _load_nearest_facts(self, episode: Item, reader: StoreReader) -> list[Item]:
        """Return the facts that a new episode may repeat or change (equation 8)."""
        (vector,) = await self._parts.embedder.embed([text_to_embed(episode)])
        return [fact for fact, _ in await find_nearest(reader, vector, ItemKind.SEMANTIC, self._settings.old_facts)]

    async def _extract_facts(
        self, episode: Item, units: Sequence[Unit], known: Sequence[Item], first: int, now: datetime
    ) -> list[tuple[Item, tuple[str, ...]]]:
        """Return new facts (equation 9), each with the ids of the known facts that it replaces."""
        reply = await self._parts.model.generate(
            build_refine_prompt(episode, units, known, self._settings.characters),
            FactsReply,
            check=lambda facts: check_facts(facts, len(units), len(known)),
        )
        given = make_facts(reply.value, episode, units, known, first=first, now=now)
        if not given:
            return []
        texts = [(item.id, text_to_embed(item)) for item in (*known, *(item for item, _ in given))]
        vectors = await self._parts.embedder.embed([text for _, text in texts])
        new = []
        for at, (item, replaced) in enumerate(given, start=len(known)):
            before = zip(texts[:at], vectors[:at], strict=True)
            others = [(text, vector) for (id_, text), vector in before if id_ not in replaced]
            if not is_known(texts[at][1], vectors[at], others, self._settings.same):
                new.append((item, replaced))
        return new

    async def _derive(self, outcome: ConsolidationResult, reader: StoreReader, now: datetime) -> Changeset:
        """Return the changes that store the items. Episodes are linked to their turns."""
        drafts = await self._make_drafts(outcome.new_items, reader)
        changes = await index_items(
            drafts,
            embedder=self._parts.embedder,
            reader=reader,
            names=self._parts.names,
            links=self._settings.links,
            resolve=self._settings.resolve,
        )
        told = [link for item in outcome.new_items for link in await _link_to_turns(item, reader)]
        return replace(
            changes,
            links=(*changes.links, *told),
            supersedes=tuple(Supersession(item=old, by=new, at=now) for old, new in outcome.replaced.items()),
        )

    async def _make_drafts(self, items: Sequence[Item], reader: StoreReader) -> list[ItemDraft]:
        """Return items with the names in them. The names are found by rule, as in turns, and not taken from a reply."""
        directory = await self._parts.names.directory_at(await reader.look_up([], []), reader)
        speakers = frozenset(await reader.speakers())
        drafts = []
        for item in items:
            names = {name.text: name.kind for name in find_names(item.text, speakers, directory)}
            drafts.append(ItemDraft(item=item, embedded=text_to_embed(item), names=tuple(names.items())))
        return drafts


async def _classify_unit(
    unit: Unit, vector: Vector, reader: StoreReader, recurrence: Recurrence
) -> ConsolidationCase | None:
    """Return a unit as a case if it needs a model, or else ``None``.

    If all its messages are in episodes, it needs none.
    """
    if not has_untold_messages(unit.item.sources, await find_told_messages([unit.item], reader)):
        return None
    episode = next(iter(await find_nearest(reader, vector, ItemKind.EPISODE, 1)), None)
    joined = episode is not None and is_merge_candidate(episode[1], recurrence)
    units, found = await find_candidates(unit, vector, reader, k=recurrence.k, floor=recurrence.theta_sim)
    if not found:
        return None
    own, *others = found
    related = select_relevant(others, own.place, recurrence)
    label = consolidation_reason(own, related, recurrence, important=unit.important, salient=unit.salient)
    if not joined and label is None:
        return None
    return ConsolidationCase(
        unit=unit,
        episode=episode[0] if episode is not None and joined else None,
        label=label,
        is_promoted=label is not None and (is_promotion(label) or unit.salient is not None),
        cluster=tuple(units[one.id] for one in select_cluster(own, related)),
    )


async def _add_context(case: ConsolidationCase, reader: StoreReader) -> ConsolidationCase:
    """Return the case as models see it: each unit together with the turn that it answers."""
    unit, *related = await add_context([case.unit, *case.cluster], reader)
    return replace(case, unit=unit, cluster=tuple(related))


async def _is_still_valid(outcome: ConsolidationResult, reader: StoreReader) -> bool:
    """Return true if nothing that a model saw has changed since.

    Everything must still be there, be valid and have the same words. The fresh units must still be in no episode.
    """
    asked = {unit.before.id: unit.before for unit in outcome.shown_units if unit.before is not None}
    said = {message.id for unit in outcome.shown_units for message in unit.messages}
    # If an answer in a turn is forgotten, the turn stays. So its messages are checked too.
    said.update(source for turn in asked.values() for source in turn.sources)
    if len(await reader.messages(said)) < len(said) or len(await reader.items(asked)) < len(asked):
        return False
    hold = {item.id: item.text for item in await reader.items([one.id for one in outcome.items]) if not item.superseded}
    if hold != {item.id: item.text for item in outcome.items}:
        return False
    return not await find_told_messages((unit.item for unit in outcome.fresh), reader)


async def _link_to_turns(item: Item, reader: StoreReader) -> list[Link]:
    """Return links from an episode to its turns. A fact gets no such links."""
    if item.kind is not ItemKind.EPISODE:
        return []
    turns = await reader.items_from(item.sources, [ItemKind.TURN])
    return [
        Link(source=item.id, target=turn.id, kind=LinkKind.RELATION, weight=1.0, label=CONSOLIDATES_ROLE)
        for turn in turns
    ]


def _make_aside_id(messages: Sequence[str]) -> str:
    """Return the id of the job of a single unit.

    The job may outlive the message that it is named after. So the id contains a hash and not the message's id.
    """
    return f"{KIND}#{hash_short(messages[0])}" if messages else ""


def _make_jobs(messages: Mapping[str, Sequence[str]], due: datetime | None) -> tuple[Job, ...]:
    """Return jobs by their ids, without those that have no messages."""
    return tuple(
        Job(id=id_, kind=KIND, payload="", messages=tuple(about), due=due) for id_, about in messages.items() if about
    )
