"""What can be read from a turn without a model: times, names, whether it asks."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.retain.resolve import Found
from recollect.retain.turns import Part, Turn, shown
from recollect.text.names import find_names
from recollect.text.terms import terms
from recollect.text.when import describe, find_times

MOST_TIMES = 8
MOST_NAMES = 12
_QUESTION_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """A turn as an item, with its terms (uint32) and the names found in it."""

    item: Item
    terms: NDArray[np.uint32]
    asks: bool
    names: tuple[Found, ...]


def extract(turn: Turn, known: Container[str], speakers: frozenset[str], recorded: datetime) -> Extracted:
    """Read a turn. ``known`` are names met before, ``speakers`` those of the conversation.

    Times and names are read from the opening words alone. An assistant's answer is full of both, and hardly any of
    them happened to anybody; its words are searched all the same.
    """
    first = turn.parts[0]
    occurrences = _occurrences(first)
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
        asks=len(turn.parts) == 1 and _asks(first),
        names=_names(first, item, known, speakers),
    )


def _asks(part: Part) -> bool:
    own = part.text.removesuffix(shown(part.message))
    return own.rstrip().endswith(_QUESTION_MARKS)


def _occurrences(opening: Part) -> tuple[Occurrence, ...]:
    found = find_times(opening.text, opening.message.at)
    return tuple(Occurrence(words=mention.text, interval=mention.interval) for mention in found[:MOST_TIMES])


def _names(opening: Part, item: Item, known: Container[str], speakers: frozenset[str]) -> tuple[Found, ...]:
    names = {name.text: name for name in find_names(opening.text, speakers, known)}
    kept = list(names.values())[:MOST_NAMES]
    return tuple(
        Found(
            item=item.id,
            surface=name.text,
            kind=name.kind,
            at=item.mentioned,
            together=tuple(other.text for other in kept if other is not name),
        )
        for name in kept
    )
