"""What can be read from a turn without a model: times, names, whether it asks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.retain.resolve import Found
from recollect.retain.turns import Turn
from recollect.text.names import find_names
from recollect.text.terms import terms
from recollect.text.when import describe, find_times

MOST_TIMES = 8
MOST_NAMES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """A turn as an item, with its terms (uint32) and the names found in it."""

    item: Item
    terms: NDArray[np.uint32]
    asks: bool
    names: tuple[Found, ...]


def extract(turn: Turn, known: Collection[str], speakers: frozenset[str], recorded: datetime) -> Extracted:
    """Read a turn. ``known`` are names met before, ``speakers`` those of the conversation."""
    first = turn.parts[0]
    occurrences = _occurrences(turn)
    item = Item(
        id=turn.id,
        kind=ItemKind.TURN,
        text=turn.text,
        session=first.message.session,
        speaker=first.message.speaker,
        sources=tuple(part.message.id for part in turn.parts),
        mentioned=first.message.at,
        recorded=recorded,
        order=turn.order,
        occurrences=occurrences,
    )
    # The dates that relative words mean are searched along with the words themselves.
    resolved = " ".join(describe(o.interval) for o in occurrences)
    searched = [part.text for part in turn.parts]
    return Extracted(
        item=item,
        terms=np.concatenate([terms(text) for text in [*searched, resolved]]),
        asks=first.text.rstrip().endswith("?") and len(turn.parts) == 1,
        names=_names(turn, item, known, speakers),
    )


def _occurrences(turn: Turn) -> tuple[Occurrence, ...]:
    found = [
        Occurrence(words=mention.text, interval=mention.interval)
        for part in turn.parts
        for mention in find_times(part.text, part.message.at)
    ]
    return tuple(found[:MOST_TIMES])


def _names(turn: Turn, item: Item, known: Collection[str], speakers: frozenset[str]) -> tuple[Found, ...]:
    names = {name.text: name for part in turn.parts for name in find_names(part.text, speakers, known)}
    kept = list(names.values())[:MOST_NAMES]
    together = tuple(name.text for name in kept)
    return tuple(
        Found(
            item=item.id,
            surface=name.text,
            kind=name.kind,
            at=item.mentioned,
            together=tuple(other for other in together if other != name.text),
        )
        for name in kept
    )
