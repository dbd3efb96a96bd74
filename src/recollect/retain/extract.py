"""Read a turn without a model: its times, its names, and whether it asks a question."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.retain.resolve import NameOccurrence
from recollect.retain.turns import Turn, TurnPart, render_captions
from recollect.text.names import find_names
from recollect.text.terms import extract_terms
from recollect.text.time_expressions import describe_interval, find_times

MOST_TIMES = 8
MOST_NAMES = 12
_QUESTION_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTurn:
    """The contents of a turn: the times and the names in it, its terms (uint32), and whether it asks a question."""

    occurrences: tuple[Occurrence, ...]
    terms: NDArray[np.uint32]
    asks: bool
    names: tuple[NameOccurrence, ...]


def extract_turn(turn: Turn, known: Container[str], speakers: frozenset[str]) -> ExtractedTurn:
    """Read a turn. ``known`` are names from before, ``speakers`` are those of the conversation.

    Times and names are read only from the opening words. An assistant's answer is full of both, and few of them
    happened to anybody. The words of the answer can still be searched.
    """
    first = turn.parts[0]
    occurrences = _find_occurrences(first)
    # Relative words such as "yesterday" can also be found by the dates that they mean.
    searched = [*(part.text for part in turn.parts), *(describe_interval(o.interval) for o in occurrences)]
    return ExtractedTurn(
        occurrences=occurrences,
        terms=extract_terms(searched[0])
        if len(searched) == 1
        else np.concatenate([extract_terms(text) for text in searched]),
        asks=len(turn.parts) == 1 and _is_question(first),
        names=_find_names(first, turn.id, known, speakers),
    )


def make_item(turn: Turn, extracted: ExtractedTurn, tokens: int) -> Item:
    """Return the item of a turn. ``tokens`` is the number of tokens of its text."""
    first = turn.parts[0].message
    return Item(
        id=turn.id,
        kind=ItemKind.TURN,
        text=turn.text,
        session=first.session,
        speaker=first.speaker,
        sources=tuple(part.message.id for part in turn.parts),
        mentioned=first.at,
        # Not the time of writing: a turn may be made again after forgetting, but its messages were known before.
        recorded=max(part.message.recorded for part in turn.parts),
        order=turn.order,
        tokens=tokens,
        occurrences=extracted.occurrences,
    )


def _is_question(part: TurnPart) -> bool:
    own = part.text.removesuffix(render_captions(part.message))
    return own.rstrip().endswith(_QUESTION_MARKS)


def _find_occurrences(opening: TurnPart) -> tuple[Occurrence, ...]:
    found = find_times(opening.text, opening.message.at, limit=MOST_TIMES)
    return tuple(Occurrence(words=mention.text, interval=mention.interval) for mention in found)


def _find_names(
    opening: TurnPart, item: str, known: Container[str], speakers: frozenset[str]
) -> tuple[NameOccurrence, ...]:
    names = {name.text: name for name in find_names(opening.text, speakers, known)}
    kept = list(names.values())[:MOST_NAMES]
    return tuple(
        NameOccurrence(
            item=item,
            surface=name.text,
            kind=name.kind,
            at=opening.message.at,
            other_names=tuple(other.text for other in kept if other is not name),
        )
        for name in kept
    )
