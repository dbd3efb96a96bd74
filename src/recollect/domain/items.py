"""Items: all units of memory that are derived from messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from recollect.domain.time import Interval
from recollect.domain.triples import Triple


class ItemKind(StrEnum):
    """The kind of a unit of memory."""

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
    """A time that an item speaks of: the words in the item, and the interval that they mean."""

    words: str
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStage:
    """An earlier state of an item that has grown since.

    Until the moment ``until``, the item had only its first ``sources`` and the first ``characters`` of its text.
    ``tokens`` was the cost of that text.
    """

    until: datetime
    sources: int
    characters: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A unit of memory (Hindsight, equation 1, without its vector).

    ``sources`` are the ids of the messages it came from, the main one first. ``derived_from`` are the ids of the items
    it was derived from.

    ``occurrences`` are the times that it speaks of. ``mentioned`` is when it was said, and ``recorded`` when it was
    first stored. ``superseded`` is the time when a newer item replaced it. Both items stay readable. ``stages`` are its
    states before it grew, the oldest first.

    ``tokens`` is the number of tokens of its text. ``order`` sorts the items of a kind in a session, and can have gaps.
    ``triple`` is the statement of an item of kind ``triple``.

    ``label`` is the kind within a kind, or "" if there is none. A summary is ``extractive`` or ``model``. Semantic
    memory is ``event``, ``preference``, ``update`` or ``relation`` (RecMem, 3.4). The label of an episode is the reason
    why it was made.
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
        """Return when it happened: the first time that it speaks of, or ``None`` if it speaks of none."""
        return self.occurrences[0].interval if self.occurrences else None

    def as_of(self, moment: datetime) -> Item:
        """Return the item as it was at a moment: without later growth, and not superseded if that came later."""
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
    """An item with its index data.

    ``vector``: float32, shape ``(dimension,)``. ``terms``: uint32, the hashed stems of its words in order, with
    repetitions. ``asks``: true if its words are a question.
    """

    item: Item
    vector: NDArray[np.float32]
    terms: NDArray[np.uint32]
    asks: bool = False
