"""Entity resolution: which entity a name means (Hindsight, section 4.1.3, equation 2), and how to take it back.

A surface that equals a known one but for case, accents, punctuation or a possessive means the same entity: nothing is
decided, no merge is logged. Two people of one name ("Sam" the colleague, "Sam" the cousin) can therefore not be told
apart by these rules and are one entity. Any other surface is compared with a few candidates; it is merged into the
best only where no veto speaks against it, and the merge is logged with its scores so that it can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp
from typing import Final

from recollect.domain.entities import Entity, EntityKind, Mention, Merge
from recollect.errors import NaiveDatetime
from recollect.retain.directory import (
    Blocks,
    Directory,
    Resolution,
    UndoPlan,
    choose,
    entity_id,
    normalise,
    short_hash,
)
from recollect.retain.likeness import Likeness, ResolveSettings, likest


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A name found in an item; ``together`` are the item's other surfaces, ``at`` (aware) when it was said.

    Raises:
        NaiveDatetime: ``at`` has no zone.
    """

    item: str
    surface: str
    kind: EntityKind
    at: datetime
    together: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise NaiveDatetime("Found.at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The terms of equation 2 for one entity, and their weighted sum."""

    entity: str
    total: float
    string: float
    cooccurrence: float
    temporal: float


def resolve(found: Sequence[Found], directory: Directory, settings: ResolveSettings | None = None) -> Resolution:
    """Say which entity each name means, in order; a later name sees what an earlier one decided.

    Pure: ``directory.apply`` takes the result over. Resolving a sequence at once or in parts, each applied before the
    next, decides the same. Blank surfaces are left out.
    """
    settings = settings or ResolveSettings()
    draft = _Draft(directory)
    for one in found:
        key = normalise(one.surface)
        if not key:
            continue
        company = draft.company(one, key)
        owner = draft.owner(key)
        if owner is None:
            owner = _assign(one, key, company, draft, settings)
        else:
            draft.see(owner, one)
        draft.mentions.append(Mention(entity=owner, item=one.item, surface=one.surface))
        draft.pair(owner, company)
    return draft.resolution()


def undo(
    merge: Merge,
    mentions: Iterable[Mention],
    *,
    at: datetime,
    kind: EntityKind = EntityKind.OTHER,
    seen: Mapping[str, datetime] | None = None,
) -> UndoPlan:
    """Plan how to give a merged surface an entity of its own; ``Directory.undo`` takes the plan over.

    Args:
        merge: the merge to undo.
        mentions: the mentions of the entity it was merged into; those of other surfaces stay with it.
        at: when it is undone (aware).
        kind: the kind of the new entity.
        seen: when each item was said; without it the entity is first and last seen when it was merged.

    Raises:
        NaiveDatetime: ``at`` has no zone.
    """
    if at.tzinfo is None:
        raise NaiveDatetime("undo's at")
    key = normalise(merge.surface)
    moved = tuple(one for one in mentions if one.entity == merge.entity and normalise(one.surface) == key)
    times = [time for one in moved if (time := (seen or {}).get(one.item)) is not None] or [merge.at]
    entity = Entity(id=entity_id(key), name=merge.surface, kind=kind, first_seen=min(times), last_seen=max(times))
    return UndoPlan(
        merge=replace(merge, undone=at),
        entity=entity,
        removed=moved,
        added=tuple(replace(one, entity=entity.id) for one in moved),
    )


class _Draft:
    """A directory with what the batch has decided so far laid over it."""

    def __init__(self, directory: Directory) -> None:
        self._base = directory
        self._entities: dict[str, Entity] = {}
        self._owners: dict[str, str] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._pairs: dict[tuple[str, str], None] = {}
        self._blocks = Blocks(self.entity)
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

    def owner(self, key: str) -> str | None:
        return self._owners.get(key) or self._base.owner(key)

    def names(self, entity_id: str) -> tuple[str, ...]:
        return self._base.names(entity_id) + self._names.get(entity_id, ())

    def apart(self, entity_id: str, key: str) -> bool:
        return self._base.apart(entity_id, key)

    def together(self, one: str, other: str) -> bool:
        return _pair(one, other) in self._pairs or self._base.together(one, other)

    def candidates(self, key: str) -> list[str]:
        return choose(key, self._block, self.entity)

    def _block(self, name: str) -> Sequence[str]:
        base, added = self._base.block(name), self._blocks.members(name)
        return list(dict.fromkeys((*base, *added))) if base and added else base or added

    def company(self, found: Found, key: str) -> dict[str, str | None]:
        """The other names of the item, normalised, with the entities they are known to mean."""
        keys = map(normalise, found.together)
        return {other: self.owner(other) for other in keys if other and other != key}

    def see(self, entity_id: str, found: Found) -> None:
        """Note that an entity was mentioned: its times, and its kind where that was not known."""
        before = self.entity(entity_id)
        first, last = min(before.first_seen, found.at), max(before.last_seen, found.at)
        kind = found.kind if before.kind is EntityKind.OTHER else before.kind
        if (first, last, kind) == (before.first_seen, before.last_seen, before.kind):
            return
        self._entities[entity_id] = Entity(id=entity_id, name=before.name, kind=kind, first_seen=first, last_seen=last)
        if entity_id in self._blocks.evicted or self._base.left_a_block(entity_id):
            self._blocks.add(entity_id, self.names(entity_id))

    def create(self, found: Found, key: str) -> str:
        new = entity_id(key)
        self._entities[new] = Entity(
            id=new, name=found.surface, kind=found.kind, first_seen=found.at, last_seen=found.at
        )
        self.name(new, key)
        return new

    def name(self, entity_id: str, key: str) -> None:
        self._owners[key] = entity_id
        self._names[entity_id] = (*self._names.get(entity_id, ()), key)
        self._blocks.add(entity_id, (key,))

    def pair(self, owner: str, company: Mapping[str, str | None]) -> None:
        for other in company.values():
            if other is not None and other != owner and not self.together(owner, other):
                self._pairs[_pair(owner, other)] = None


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _assign(found: Found, key: str, company: Mapping[str, str | None], draft: _Draft, settings: ResolveSettings) -> str:
    """The entity of a surface not met before: one it is merged into, or a new one."""
    best = _best(_scored(found, key, company, draft, settings), settings)
    if best is None:
        return draft.create(found, key)
    draft.merges.append(
        Merge(
            id=f"merge:{short_hash(best.entity, found.surface)}",
            entity=best.entity,
            surface=found.surface,
            score=best.total,
            string=best.string,
            cooccurrence=best.cooccurrence,
            temporal=best.temporal,
            at=found.at,
        )
    )
    draft.see(best.entity, found)
    draft.name(best.entity, key)
    return best.entity


def _best(scored: Sequence[Scores], settings: ResolveSettings) -> Scores | None:
    """Equation 2's argmax, where it passes the threshold and leads by the margin."""
    ranked = sorted(scored, key=lambda one: (-one.total, one.entity))
    if not ranked or ranked[0].total < settings.threshold:
        return None
    if len(ranked) > 1 and ranked[0].total - ranked[1].total < settings.margin:
        return None
    return ranked[0]


def _scored(
    found: Found, key: str, company: Mapping[str, str | None], draft: _Draft, settings: ResolveSettings
) -> list[Scores]:
    """The candidates that no veto rules out, with their scores."""
    alike: list[tuple[Entity, Likeness]] = []
    for candidate in draft.candidates(key):
        found_likeness = likest(key, draft.names(candidate), settings)
        if found_likeness is not None:
            alike.append((draft.entity(candidate), found_likeness))
    # A first name that two full names share says nothing, whatever the two are.
    shared = sum(likeness.part and entity.kind in _PERHAPS_PEOPLE for entity, likeness in alike) > 1
    return [
        score(found, entity, likeness.string, _company_share(entity.id, company, draft), settings)
        for entity, likeness in alike
        if not (likeness.part and (shared or not _may_be_part(found, entity, likeness, company)))
        and not (found.kind in _ONE_OR_OTHER and entity.kind in _ONE_OR_OTHER and found.kind is not entity.kind)
        and not draft.apart(entity.id, key)
    ]


def _may_be_part(found: Found, entity: Entity, likeness: Likeness, company: Mapping[str, str | None]) -> bool:
    """Whether a name may be the fuller or the shorter form of an entity's: of people only ("York", "New York").

    "John, meet my friend John Smith": who is mentioned by the short name too may well be another.
    """
    people = found.kind is EntityKind.PERSON and entity.kind is EntityKind.PERSON
    return people and not (likeness.fuller and entity.id in company.values())


def score(found: Found, entity: Entity, string: float, cooccurrence: float, settings: ResolveSettings) -> Scores:
    """Equation 2 for one entity; nearness in time is exp(-|dt| / sigma) from the entity's last mention."""
    temporal = exp(-(abs(found.at - entity.last_seen) / settings.sigma))
    return Scores(
        entity=entity.id,
        total=settings.alpha * string + settings.beta * cooccurrence + settings.gamma * temporal,
        string=string,
        cooccurrence=cooccurrence,
        temporal=temporal,
    )


def _company_share(entity_id: str, company: Mapping[str, str | None], draft: _Draft) -> float:
    """The share of the item's other names whose entities have been mentioned together with this one."""
    if not company:
        return 0.0
    met = sum(other is not None and draft.together(entity_id, other) for other in company.values())
    return met / len(company)


_ONE_OR_OTHER: Final = frozenset((EntityKind.PERSON, EntityKind.LOCATION))
_PERHAPS_PEOPLE: Final = frozenset((EntityKind.PERSON, EntityKind.OTHER))
