"""Items: every unit of memory that is derived from messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from recollect.domain.time import Interval
from recollect.domain.triples import Triple


class ItemKind(StrEnum):
    """What a unit of memory is."""

    TURN = "turn"
    SEGMENT = "segment"
    SUMMARY = "summary"
    FACT = "fact"
    OPINION = "opinion"
    OBSERVATION = "observation"
    GIST = "gist"
    TRIPLE = "triple"
    EPISODE = "episode"
    SEMANTIC = "semantic"


class Network(StrEnum):
    """Hindsight's two networks of facts (section 3.1)."""

    WORLD = "world"
    EXPERIENCE = "experience"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A time that an item's words speak of: the words and the interval they mean."""

    words: str
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStage:
    """What an item was until a moment, before it grew: its first ``sources``, the first ``characters`` of its text."""

    until: datetime
    sources: int
    characters: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A unit of memory (Hindsight, equation 1, without its vector).

    ``sources`` are the ids of the messages it came from, the one it is about first; ``derived_from`` the ids of items
    it was made of. ``occurrences`` say when what it tells happened, ``mentioned`` when it was said, ``recorded`` when
    it was first stored. ``tokens`` is what the text costs. ``order`` sorts the items of a kind in a session; there are
    gaps. ``superseded`` is set when a newer item took its place: both stay readable. ``stages`` are what an item was
    before it grew, the oldest first. ``label`` says what kind of its kind it is: of a summary ``extractive`` or
    ``model``, of semantic memory ``event``, ``preference``, ``update`` or ``relation`` (RecMem, 3.4), of an episode why
    it was made; "" where there is nothing to tell apart. ``triple`` is what an item of that kind states.
    """

    id: str
    kind: ItemKind
    text: str
    session: str
    speaker: str
    sources: tuple[str, ...]
    mentioned: datetime
    recorded: datetime
    order: int = 0
    occurrences: tuple[Occurrence, ...] = ()
    derived_from: tuple[str, ...] = ()
    network: Network | None = None
    confidence: float | None = None
    tokens: int = 0
    superseded: datetime | None = None
    stages: tuple[ItemStage, ...] = ()
    label: str = ""
    triple: Triple | None = None

    @property
    def occurred(self) -> Interval | None:
        """When it happened, as far as its words say: the first time they speak of."""
        return self.occurrences[0].interval if self.occurrences else None

    def as_of(self, moment: datetime) -> Item:
        """What was known of it at a moment: without what it has grown by since, or that it was superseded since."""
        superseded = None if self.superseded is None or moment < self.superseded else self.superseded
        before = tuple(stage for stage in self.stages if stage.until <= moment)
        if len(before) == len(self.stages):
            return replace(self, superseded=superseded)
        then = self.stages[len(before)]
        text = self.text[: then.characters]
        return replace(
            self,
            text=text,
            occurrences=tuple(one for one in self.occurrences if one.words in text),
            sources=self.sources[: then.sources],
            tokens=then.tokens,
            superseded=superseded,
            stages=before,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedItem:
    """An item with what it is found by.

    ``vector``: float32, shape ``(dimension,)``. ``terms``: uint32, the hashed stems of its words in order, repeats
    kept. ``asks``: its words are a question.
    """

    item: Item
    vector: NDArray[np.float32]
    terms: NDArray[np.uint32]
    asks: bool = False
