"""Entities: the people, places and things that items mention."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EntityKind(StrEnum):
    """Hindsight's six kinds of entities (section 4.1.2)."""

    PERSON = "person"
    ORGANIZATION = "organization"
    LOCATION = "location"
    PRODUCT = "product"
    CONCEPT = "concept"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A canonical entity. ``first_seen`` and ``last_seen`` are the times of its first and its last mention."""

    id: str
    name: str
    kind: EntityKind
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NameInUse:
    """The name of an entity, and the ids of the first messages of the bank that mention it."""

    name: str
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A mention of an entity in an item. ``surface`` is the form of the name in that item."""

    entity: str
    item: str
    surface: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The decision that a new surface form means a known entity, with the scores of the decision (equation 2).

    Undoing a merge gives the surface form a new entity. From then on the two entities are not merged again.
    """

    id: str
    entity: str
    surface: str
    score: float
    string: float
    cooccurrence: float
    temporal: float
    at: datetime
    undone: datetime | None = None
