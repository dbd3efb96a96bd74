"""Keep opinions as items, and read their trajectories (Hindsight, section 5.4.1, equation 24).

Every step of an opinion is an item. Its id is the id of the opinion, ``opinion:{stem}``, with the number of the step
and its cause. A step supersedes the step before it, and is derived from that step and from the evidence that moved it.
A link with the assessment leads to the evidence. So nothing is overwritten. If the evidence of a step is forgotten, the
step before it is valid again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import ClassVar, Final

import numpy as np

from recollect.domain.answers import TraceLine
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import EntityKind
from recollect.domain.items import Item, ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.domain.opinions import Assessment, Opinion, OpinionStep
from recollect.domain.usage import Usage
from recollect.methods.dependencies import Dependencies
from recollect.retain.index_items import ItemDraft, index_items
from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings
from recollect.store.profile_setting import read_profile
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms, split_words

_STEP: Final = re.compile(
    r"(?P<opinion>.+):(?P<number>\d+):(?P<assessment>formed|reinforce|weaken|contradict|revised)", re.DOTALL
)
_OPENING: Final = re.compile(
    r"\b(?:previously\b.{0,500}?\bbut now,? )?"
    r"(?:in my (?:view|opinion),? |to me,? |(?:i|i['’]ve|i['’]m)(?: now| still| have| come to|,)* "
    r"(?:think|believe|feel|find|hold|am convinced|convinced) (?:that )?)",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"n['’]t\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"(?:[\w’']+,?\s+){0,3}(?:I(?:['’](?:m|ve|d|ll))?|[Mm]e|[Mm]y|[Mm]yself)(?![\w’'])")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionSettings:
    """Settings for an opinion in the graph: its links, and the resolution of its names."""

    links: LinkSettings = LinkSettings()
    resolve: ResolveSettings = ResolveSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionChange:
    """The next step of an opinion, or its first. ``entities`` are names, and ``evidence`` are ids of items.

    If an answer changes the opinion, this is a step of its trace (:class:`recollect.domain.answers.TraceStep`).
    """

    kind: ClassVar[str] = "hindsight.opinion"
    action: ClassVar[str] = "opinion"
    seconds: ClassVar[float] = 0.0
    usage: ClassVar[Usage] = Usage()
    lines: ClassVar[tuple[TraceLine, ...]] = ()

    opinion: str
    text: str
    confidence: float
    assessment: Assessment
    evidence: tuple[str, ...]
    entities: tuple[str, ...] = ()

    @property
    def detail(self) -> str:
        return f"{self.assessment.value}: {self.text} ({self.confidence:.2f})"


PlanOpinions = Callable[[Sequence[Opinion]], Sequence[OpinionChange]]


def make_opinion_id(statement: str) -> str:
    """Return the id of the opinion that a statement expresses. Statements with the same meaning words have the same id.

    An opening ("I think", "in my view"), the endings of words, their case and punctuation make no difference. The order
    of words does, and so does each small word: who hires whom, and a "not", decide what an opinion says.

    The id is ``opinion:{matter}-{wording}``. The matter depends on the words that are not small, in any order, so that
    opinions for and against the same matter have similar ids.
    """
    told = _OPENING.sub("", statement, count=1)
    found = np.unique(extract_terms(told))
    wording = " ".join(map(_stem, split_words(_NOT.sub(" not", told)))) or told.casefold()
    matter = found.astype("<u4").tobytes() if found.size else told.casefold().encode("utf-8", "replace")
    return f"opinion:{_hash_bytes(matter, 8)}-{_hash_bytes(wording.encode('utf-8', 'replace'), 4)}"


def _hash_bytes(told: bytes, size: int) -> str:
    return hashlib.blake2b(told, digest_size=size).hexdigest()


def _stem(word: str) -> str:
    """Return a word without its ending, as a term. A small word stays as it is."""
    return " ".join(map(str, extract_terms(word))) or word


def is_in_first_person(statement: str) -> bool:
    """Return true if a statement begins in the first person ("I think", "In my view", "On balance, I")."""
    return _FIRST_PERSON.match(statement.strip()) is not None


async def load_opinions(reader: StoreReader, *, entity: str | None = None) -> list[Opinion]:
    """Return the opinions of a bank with their trajectories. The one that moved last comes first.

    Args:
        reader: the bank.
        entity: the id of an entity. Only opinions that mention it are returned.
    """
    items = await reader.items_of([ItemKind.OPINION], superseded=True)
    mentions = await reader.mentions_of([item.id for item in items])
    names = {one.id: one.name for one in await reader.entities({mention.entity for mention in mentions})}
    entities: dict[str, dict[str, str]] = {}
    for mention in mentions:
        if mention.entity in names:  # else it was forgotten between two looks
            entities.setdefault(mention.item, {})[mention.entity] = names[mention.entity]
    opinions = group_trajectories(items, {item: tuple(of.values()) for item, of in entities.items()})
    if entity is None:
        return opinions
    return [opinion for opinion in opinions if entity in entities.get(opinion.steps[-1].id, {})]


def group_trajectories(items: Iterable[Item], entities: Mapping[str, Sequence[str]]) -> list[Opinion]:
    """Return the valid opinions of some steps, given in any order. The one that moved last comes first.

    Args:
        items: the items of opinions. An item without a step number is the first step of an opinion.
        entities: for the id of each item, the names of the entities that it mentions.
    """
    steps: dict[str, list[tuple[int, Item]]] = {}
    for item in items:
        opinion, number, _ = _parse_step_id(item.id)
        steps.setdefault(opinion, []).append((number, item))
    opinions = (_make_opinion(id_, sorted(taken, key=_step_number), entities) for id_, taken in steps.items())
    held = [opinion for opinion in opinions if opinion is not None]
    return sorted(held, key=lambda opinion: (opinion.steps[-1].at, opinion.id), reverse=True)


def _step_number(step: tuple[int, Item]) -> int:
    return step[0]


def get_opinion_id(item: str) -> str:
    """Return the id of the opinion to which an item belongs."""
    return _parse_step_id(item)[0]


def _parse_step_id(item: str) -> tuple[str, int, Assessment]:
    """Return the opinion of a step, the number of the step, and its cause."""
    step = _STEP.fullmatch(item)
    if step is None:
        return item, 0, Assessment.FORMED
    return step["opinion"], int(step["number"]), Assessment(step["assessment"])


def _make_opinion(
    id_: str, numbered: Sequence[tuple[int, Item]], entities: Mapping[str, Sequence[str]]
) -> Opinion | None:
    """Return the opinion of these ordered steps, or ``None`` if its last step is no longer valid."""
    items = [item for _, item in numbered]
    last = items[-1]
    if last.superseded is not None:
        return None
    ids = {item.id for item in items}
    steps = tuple(
        OpinionStep(
            id=item.id,
            at=item.mentioned,
            text=item.text,
            confidence=item.confidence or 0.0,
            assessment=_parse_step_id(item.id)[2],
            evidence=tuple(origin for origin in item.derived_from if origin not in ids),
        )
        for item in items
    )
    return Opinion(
        id=id_,
        text=last.text,
        confidence=steps[-1].confidence,
        formed=steps[0].at,
        entities=tuple(entities.get(last.id, ())),
        sources=last.sources,
        steps=steps,
    )


async def derive_opinion_changes(
    plan: PlanOpinions, *, at: datetime, parts: Dependencies, reader: StoreReader, settings: OpinionSettings
) -> Changeset:
    """Return the changes that store the steps that ``plan`` derives from the present opinions. No model is called.

    A step is skipped if some of its evidence was forgotten meanwhile. ``at`` is the present of the reasoning, which may
    be the present of a question. The steps are valid from the time when they are stored, by the clock of ``parts``.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    held = {opinion.id: opinion for opinion in await load_opinions(reader)}
    planned = list(plan(list(held.values())))
    evidence = {item.id: item for item in await reader.items({id_ for step in planned for id_ in step.evidence})}
    taken = [step for step in planned if all(id_ in evidence for id_ in step.evidence)]
    if not taken:
        return Changeset()
    speaker = (await read_profile(reader)).name
    names = await _collect_names(taken, held, reader)
    draw_up = partial(_make_item, speaker=speaker, thought=at, stored=parts.clock())
    kept = [draw_up(step, held.get(step.opinion), evidence) for step in taken]
    changes = await index_items(
        [ItemDraft(item=item, embedded=item.text, names=names[item.session]) for item in kept],
        embedder=parts.embedder,
        reader=reader,
        names=parts.names,
        links=settings.links,
        resolve=settings.resolve,
    )
    return replace(
        changes,
        links=(*changes.links, *_make_reason_links(taken, kept)),
        supersedes=(*changes.supersedes, *_find_superseded(kept, held)),
    )


async def _collect_names(
    steps: Sequence[OpinionChange], held: Mapping[str, Opinion], reader: StoreReader
) -> dict[str, tuple[tuple[str, EntityKind], ...]]:
    """Return the names that the next step of each opinion mentions: those of the step before, of its text, and its
    own.
    """
    before = {held[step.opinion].steps[-1].id: step.opinion for step in steps if step.opinion in held}
    names: dict[str, list[str]] = {step.opinion: [] for step in steps}
    for mention in await reader.mentions_of(before):
        names[before[mention.item]].append(mention.surface)
    for step in steps:
        names[step.opinion].extend(step.entities)
    # What kind of thing a name means is the facts' to say.
    return {opinion: tuple((name, EntityKind.OTHER) for name in dict.fromkeys(of)) for opinion, of in names.items()}


def _make_item(
    step: OpinionChange,
    before: Opinion | None,
    evidence: Mapping[str, Item],
    *,
    speaker: str,
    thought: datetime,
    stored: datetime,
) -> Item:
    """Return the item of a step.

    Its date is the time of the reasoning. It is never later than the time when the step is stored, although the present
    of a question may be, and never earlier than the step before it.
    """
    rests_on = [evidence[id_] for id_ in step.evidence]
    last = before.steps[-1] if before else None
    dated = min(thought, stored)
    number = 0 if last is None else _parse_step_id(last.id)[1] + 1
    sources = (*(source for item in rests_on for source in item.sources), *(before.sources if before else ()))
    return Item(
        id=f"{step.opinion}:{number}:{step.assessment.value}",
        kind=ItemKind.OPINION,
        text=step.text,
        # A trajectory is what a session is to a turn: its steps stand in it one after the other.
        session=step.opinion,
        speaker=speaker,
        sources=tuple(dict.fromkeys(sources)),
        mentioned=dated if last is None else max(dated, last.at),
        recorded=max([stored, *(item.recorded for item in rests_on)]),
        order=number,
        derived_from=(*([last.id] if last else []), *step.evidence),
        confidence=step.confidence,
    )


def _make_reason_links(steps: Sequence[OpinionChange], items: Sequence[Item]) -> list[Link]:
    return [
        Link(source=item.id, target=target, kind=LinkKind.RELATION, weight=1.0, label=step.assessment.value)
        for step, item in zip(steps, items, strict=True)
        for target in step.evidence
    ]


def _find_superseded(items: Sequence[Item], held: Mapping[str, Opinion]) -> list[Supersession]:
    return [
        Supersession(item=held[item.session].steps[-1].id, by=item.id, at=item.recorded)
        for item in items
        if item.session in held
    ]
