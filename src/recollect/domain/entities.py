"""Entities: the people, places and things that items mention."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EntityKind(StrEnum):
    """Hindsight's six kinds (section 4.1.2)."""

    PERSON = "person"
    ORGANIZATION = "organization"
    LOCATION = "location"
    PRODUCT = "product"
    CONCEPT = "concept"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A canonical entity; ``first_seen`` and ``last_seen`` are the times of its first and last mention."""

    id: str
    name: str
    kind: EntityKind
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NameInUse:
    """The name of an entity, and the ids of the messages in which a bank met it first."""

    name: str
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An item's mention of an entity, in the words used there."""

    entity: str
    item: str
    surface: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The decision that a new surface form means a known entity, with the scores that decided (equation 2).

    Undoing it gives the surface form an entity of its own and keeps the two apart from then on.
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
