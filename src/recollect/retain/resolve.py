"""Resolve entities: decide which entity a name means (Hindsight, section 4.1.3, equation 2), and undo such decisions.

If a surface differs from a known one only by case, accents, punctuation or a possessive, it means the same entity. In
this case nothing is decided, and no merge is logged. So these rules cannot distinguish two people of the same name
("Sam" the colleague, "Sam" the cousin): they are one entity. Any other surface is compared with a few candidates. It is
merged into the best one only if no veto forbids this. The merge is logged with its scores, so that it can be undone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp
from typing import Final

from recollect.domain.entities import Entity, EntityKind, Mention, Merge
from recollect.errors import NaiveDatetime
from recollect.retain.directory import (
    EntityDirectory,
    NameBlocks,
    Resolution,
    UndoPlan,
    choose_candidates,
    hash_short,
    make_entity_id,
    normalize_surface,
)
from recollect.retain.name_similarity import NameSimilarity, ResolveSettings, find_most_similar


@dataclass(frozen=True, slots=True, kw_only=True)
class NameOccurrence:
    """A name found in an item. ``other_names`` are the item's other surfaces, ``at`` (aware) is the time when it was
    said.

    Raises:
        NaiveDatetime: ``at`` has no zone.
    """

    item: str
    surface: str
    kind: EntityKind
    at: datetime
    other_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise NaiveDatetime("Found.at")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionScores:
    """The terms of equation 2 for one entity, and their weighted sum."""

    entity: str
    total: float
    string: float
    cooccurrence: float
    temporal: float


def resolve_names(
    found: Sequence[NameOccurrence], directory: EntityDirectory, settings: ResolveSettings | None = None
) -> Resolution:
    """Decide which entity each name means, in order. A later name sees the earlier decisions.

    The function is pure, and ``directory.apply`` applies its result. A sequence may be resolved at once or in parts,
    each of them applied before the next. The result is the same. Blank surfaces are left out.
    """
    draft = _DirectoryDraft(directory)
    _resolve(found, draft, settings or ResolveSettings())
    return draft.resolution()


async def resolve_many_names(
    found: Sequence[NameOccurrence], directory: EntityDirectory, settings: ResolveSettings | None = None
) -> Resolution:
    """Return what :func:`resolve_names` returns. Other tasks of the event loop run between slices of the names.

    A thread cannot do this, because other tasks may change the directory. A decision that rests on an older directory
    is refused when it is written.
    """
    draft = _DirectoryDraft(directory)
    for start in range(0, len(found), _SLICE):
        if start:
            await asyncio.sleep(0)
        _resolve(found[start : start + _SLICE], draft, settings or ResolveSettings())
    return draft.resolution()


def _resolve(found: Iterable[NameOccurrence], draft: _DirectoryDraft, settings: ResolveSettings) -> None:
    """Add the decisions on some names to a draft."""
    for one in found:
        key = normalize_surface(one.surface)
        if not key:
            continue
        company = draft.find_company(one, key)
        owner = draft.find_owner(key)
        if owner is None:
            owner = _assign(one, key, company, draft, settings)
        else:
            draft.note_mention(owner, one)
        draft.mentions.append(Mention(entity=owner, item=one.item, surface=one.surface))
        draft.add_pairs(owner, company)


def plan_undo(
    merge: Merge,
    mentions: Iterable[Mention],
    *,
    at: datetime,
    kind: EntityKind = EntityKind.OTHER,
    seen: Mapping[str, datetime] | None = None,
) -> UndoPlan:
    """Plan how to give a merged surface its own entity. ``Directory.plan_undo`` applies the plan.

    Args:
        merge: the merge to undo.
        mentions: the mentions of the entity it was merged into. Mentions of other surfaces stay with that entity.
        at: the time of the undoing (aware).
        kind: the kind of the new entity.
        seen: the time when each item was said. Without it, the time of the merge is when the entity was first and last
            seen.

    Raises:
        NaiveDatetime: ``at`` has no zone.
    """
    if at.tzinfo is None:
        raise NaiveDatetime("undo's at")
    key = normalize_surface(merge.surface)
    moved = tuple(one for one in mentions if one.entity == merge.entity and normalize_surface(one.surface) == key)
    times = [time for one in moved if (time := (seen or {}).get(one.item)) is not None] or [merge.at]
    entity = Entity(id=make_entity_id(key), name=merge.surface, kind=kind, first_seen=min(times), last_seen=max(times))
    return UndoPlan(
        merge=replace(merge, undone=at),
        entity=entity,
        removed=moved,
        added=tuple(replace(one, entity=entity.id) for one in moved),
    )


class _DirectoryDraft:
    """A directory together with the decisions of the current batch."""

    def __init__(self, directory: EntityDirectory) -> None:
        self._base = directory
        self._entities: dict[str, Entity] = {}
        self._owners: dict[str, str] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._pairs: dict[tuple[str, str], None] = {}
        self._blocks = NameBlocks(self.entity)
        self.mentions: list[Mention] = []
        self.merges: list[Merge] = []

    def resolution(self) -> Resolution:
        return Resolution(
            entities=tuple(self._entities.values()),
            mentions=tuple(self.mentions),
            merges=tuple(self.merges),
            pairs=tuple(self._pairs),
        )

    def entity(self, entity_id: str) -> Entity:
        return self._entities.get(entity_id) or self._base.entity(entity_id)

    def find_owner(self, key: str) -> str | None:
        return self._owners.get(key) or self._base.find_owner(key)

    def list_names(self, entity_id: str) -> tuple[str, ...]:
        return self._base.list_names(entity_id) + self._names.get(entity_id, ())

    def is_kept_apart(self, entity_id: str, key: str) -> bool:
        return self._base.is_kept_apart(entity_id, key)

    def has_pair(self, one: str, other: str) -> bool:
        return _order_pair(one, other) in self._pairs or self._base.has_pair(one, other)

    def find_candidates(self, key: str) -> list[str]:
        return choose_candidates(key, self._block, self.entity)

    def _block(self, name: str) -> Sequence[str]:
        base, added = self._base.get_block(name), self._blocks.members(name)
        return list(dict.fromkeys((*base, *added))) if base and added else base or added

    def find_company(self, found: NameOccurrence, key: str) -> dict[str, str | None]:
        """Return the other names of the item, normalised, with the entities that they are known to mean."""
        keys = map(normalize_surface, found.other_names)
        return {other: self.find_owner(other) for other in keys if other and other != key}

    def note_mention(self, entity_id: str, found: NameOccurrence) -> None:
        """Record a mention of an entity: its times, and its kind if it was unknown."""
        before = self.entity(entity_id)
        first, last = min(before.first_seen, found.at), max(before.last_seen, found.at)
        kind = found.kind if before.kind is EntityKind.OTHER else before.kind
        if (first, last, kind) == (before.first_seen, before.last_seen, before.kind):
            return
        self._entities[entity_id] = Entity(id=entity_id, name=before.name, kind=kind, first_seen=first, last_seen=last)
        if entity_id in self._blocks.evicted or self._base.has_left_block(entity_id):
            self._blocks.add(entity_id, self.list_names(entity_id))

    def create_entity(self, found: NameOccurrence, key: str) -> str:
        new = make_entity_id(key)
        self._entities[new] = Entity(
            id=new, name=found.surface, kind=found.kind, first_seen=found.at, last_seen=found.at
        )
        self.add_name(new, key)
        return new

    def add_name(self, entity_id: str, key: str) -> None:
        self._owners[key] = entity_id
        self._names[entity_id] = (*self._names.get(entity_id, ()), key)
        self._blocks.add(entity_id, (key,))

    def add_pairs(self, owner: str, company: Mapping[str, str | None]) -> None:
        for other in company.values():
            if other is not None and other != owner and not self.has_pair(owner, other):
                self._pairs[_order_pair(owner, other)] = None


def _order_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _assign(
    found: NameOccurrence,
    key: str,
    company: Mapping[str, str | None],
    draft: _DirectoryDraft,
    settings: ResolveSettings,
) -> str:
    """Return the entity of a new surface: the one into which it is merged, or a new one."""
    best = _choose_best(_score_candidates(found, key, company, draft, settings), settings)
    if best is None:
        return draft.create_entity(found, key)
    draft.merges.append(
        Merge(
            id=f"merge:{hash_short(best.entity, found.surface)}",
            entity=best.entity,
            surface=found.surface,
            score=best.total,
            string=best.string,
            cooccurrence=best.cooccurrence,
            temporal=best.temporal,
            at=found.at,
        )
    )
    draft.note_mention(best.entity, found)
    draft.add_name(best.entity, key)
    return best.entity


def _choose_best(scored: Sequence[ResolutionScores], settings: ResolveSettings) -> ResolutionScores | None:
    """Return the argmax of equation 2, if it reaches the threshold and leads by the margin."""
    ranked = sorted(scored, key=lambda one: (-one.total, one.entity))
    if not ranked or ranked[0].total < settings.threshold:
        return None
    if len(ranked) > 1 and ranked[0].total - ranked[1].total < settings.margin:
        return None
    return ranked[0]


def _score_candidates(
    found: NameOccurrence,
    key: str,
    company: Mapping[str, str | None],
    draft: _DirectoryDraft,
    settings: ResolveSettings,
) -> list[ResolutionScores]:
    """Return the candidates that no veto rules out, with their scores."""
    alike: list[tuple[Entity, NameSimilarity]] = []
    for candidate in draft.find_candidates(key):
        found_likeness = find_most_similar(key, draft.list_names(candidate), settings)
        if found_likeness is not None:
            alike.append((draft.entity(candidate), found_likeness))
    # A first name that two full names share does not decide between them.
    shared = sum(likeness.is_part and entity.kind in _PERHAPS_PEOPLE for entity, likeness in alike) > 1
    return [
        score_entity(found, entity, likeness.string, _compute_company_share(entity.id, company, draft), settings)
        for entity, likeness in alike
        if not (likeness.is_part and (shared or not _may_be_part(found, entity, likeness, company)))
        and not (found.kind in _ONE_OR_OTHER and entity.kind in _ONE_OR_OTHER and found.kind is not entity.kind)
        and not draft.is_kept_apart(entity.id, key)
    ]


def _may_be_part(
    found: NameOccurrence, entity: Entity, likeness: NameSimilarity, company: Mapping[str, str | None]
) -> bool:
    """Return true if a name may be a longer or a shorter form of an entity's name.

    Only names of people may ("York" is not "New York"). A text may say "John, meet my friend John Smith". If the short
    name is in the same text, the longer name may belong to another person.
    """
    people = found.kind is EntityKind.PERSON and entity.kind is EntityKind.PERSON
    return people and not (likeness.is_fuller and entity.id in company.values())


def score_entity(
    found: NameOccurrence, entity: Entity, string: float, cooccurrence: float, settings: ResolveSettings
) -> ResolutionScores:
    """Return the terms of equation 2 for one entity. Nearness in time is exp(-|dt| / sigma) from its last mention."""
    temporal = exp(-(abs(found.at - entity.last_seen) / settings.sigma))
    return ResolutionScores(
        entity=entity.id,
        total=settings.alpha * string + settings.beta * cooccurrence + settings.gamma * temporal,
        string=string,
        cooccurrence=cooccurrence,
        temporal=temporal,
    )


def _compute_company_share(entity_id: str, company: Mapping[str, str | None], draft: _DirectoryDraft) -> float:
    """Return the share of the item's other names whose entities have been mentioned together with this entity."""
    if not company:
        return 0.0
    met = sum(other is not None and draft.has_pair(entity_id, other) for other in company.values())
    return met / len(company)


_SLICE: Final = 100  # names, of which the decisions take some milliseconds
_ONE_OR_OTHER: Final = frozenset((EntityKind.PERSON, EntityKind.LOCATION))
_PERHAPS_PEOPLE: Final = frozenset((EntityKind.PERSON, EntityKind.OTHER))
