"""Opinions and how they came to be what they are (Hindsight, sections 5.4 and 5.5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Assessment(StrEnum):
    """What made a step of an opinion: its formation, what new evidence said of it (equation 26), or a second thought.

    ``NEUTRAL`` evidence makes no step.
    """

    FORMED = "formed"
    REINFORCE = "reinforce"
    WEAKEN = "weaken"
    CONTRADICT = "contradict"
    NEUTRAL = "neutral"
    REVISED = "revised"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionStep:
    """What an opinion was from ``at`` on. ``id`` is the item that keeps it, ``evidence`` the items that moved it."""

    id: str
    at: datetime
    text: str
    confidence: float
    assessment: Assessment
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A belief as it is held now (equation 24), with all its steps, the oldest first.

    ``text`` is a statement in the first person with its reason, ``confidence``, in [0, 1], how firmly it is believed,
    ``formed`` when it was first. ``entities`` are the names of whom and what it is about, ``sources`` the ids of the
    messages that it goes back to.
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
        """Every item that it was formed from, or moved by."""
        return frozenset(id_ for step in self.steps for id_ in step.evidence)
