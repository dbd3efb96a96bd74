"""Opinions and their history (Hindsight, sections 5.4 and 5.5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Assessment(StrEnum):
    """The cause of a step in the history of an opinion: its formation, new evidence (equation 26), or a revision.

    ``NEUTRAL`` evidence causes no step.
    """

    FORMED = "formed"
    REINFORCE = "reinforce"
    WEAKEN = "weaken"
    CONTRADICT = "contradict"
    NEUTRAL = "neutral"
    REVISED = "revised"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionStep:
    """The state of an opinion from ``at`` on.

    ``id`` is the id of the item that stores this state. ``evidence`` are the ids of the items that caused the step.
    """

    id: str
    at: datetime
    text: str
    confidence: float
    assessment: Assessment
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A belief in its current state (equation 24), with all its steps, the oldest first.

    ``text`` is a statement in the first person with its reason. ``confidence``, in [0, 1], says how firmly it is
    believed. ``formed`` is when it was first formed. ``entities`` are the names of the entities that it is about.
    ``sources`` are the ids of the messages that it comes from.
    """

    id: str
    text: str
    confidence: float
    formed: datetime
    entities: tuple[str, ...]
    sources: tuple[str, ...]
    steps: tuple[OpinionStep, ...]

    @property
    def evidence(self) -> frozenset[str]:
        """Return the ids of all items from which it was formed, or which changed it."""
        return frozenset(id_ for step in self.steps for id_ in step.evidence)
