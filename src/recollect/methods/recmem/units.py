"""The units of interaction that consolidation works on (RecMem, section 3.2): a turn, its messages and its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.answering.evidence import format_moment, indent_lines, join_lines
from recollect.domain.items import Item, ItemKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.methods.recmem.recurrence import Place, UnitCandidate
from recollect.methods.recmem.salience import find_salience
from recollect.store.protocol import StoreReader

Vector = NDArray[np.float32]

_OWN_MEANING: Final = Weights(surroundings=0.0)  # equations 5 and 6 compare items without their surroundings
_CUT_MARK: Final = 4
CONTEXT_SPAN: Final = timedelta(days=1)
"""The maximal time between a message and an adjacent message that is shown with it."""

ANSWERING: Final = "right after"
"""The text in a prompt before the words that a unit answers."""

NEIGHBOUR_CHARACTERS: Final = 300
"""The maximal number of characters that are shown of an adjacent message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A turn with its messages, in order. If it answers a turn, ``before`` is the turn that was said right before it.

    Between people, a unit is a single message, while in the paper it is an exchange. "Yes, gladly" alone says little.
    """

    item: Item
    messages: tuple[StoredMessage, ...]
    before: Item | None = None

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def important(self) -> bool:
        """Return true if one of its messages was pinned."""
        return any(message.important for message in self.messages)

    @property
    def salient(self) -> str | None:
        """Return the reason why it must not be lost, or ``None``.

        Only statements of people count, not an assistant's answers.
        """
        return next((why for message in self.messages if (why := find_salience_of(message)) is not None), None)


def find_salience_of(message: StoredMessage) -> str | None:
    """Return the reason why a message must not be lost, if a person said it, or else ``None``.

    The rules are in :mod:`recollect.methods.recmem.salience`.
    """
    return find_salience(message.text) if message.role is Role.USER else None


async def load_units(messages: Sequence[StoredMessage], reader: StoreReader) -> list[Unit]:
    """Return the units that contain these messages, each once, in the order of their first messages here.

    If a message is too long for one turn, its first passage represents the unit.
    """
    turns = await reader.items_from([message.id for message in messages], [ItemKind.TURN])
    holding: dict[str, Item] = {}
    for turn in sorted(turns, key=lambda turn: turn.order):
        for source in turn.sources:
            holding.setdefault(source, turn)
    found: dict[str, Item] = {}
    for message in messages:
        if message.id in holding:
            turn = holding[message.id]
            found.setdefault(turn.id, turn)
    said = {
        one.id: one for one in await reader.messages({source for turn in found.values() for source in turn.sources})
    }
    return [
        Unit(item=turn, messages=tuple(said[source] for source in turn.sources))
        for turn in found.values()
        if all(source in said for source in turn.sources)  # otherwise it was forgotten between two reads
    ]


async def make_units(items: Iterable[Item], reader: StoreReader) -> dict[str, Unit]:
    """Return turns as units, by their ids."""
    turns = list(items)
    said = {one.id: one for one in await reader.messages({source for turn in turns for source in turn.sources})}
    whole = (turn for turn in turns if all(source in said for source in turn.sources))
    return {turn.id: Unit(item=turn, messages=tuple(said[source] for source in turn.sources)) for turn in whole}


async def add_context(units: Sequence[Unit], reader: StoreReader) -> tuple[Unit, ...]:
    """Return units with the turns that they answer.

    Only a unit of a single message gets such a turn: one that somebody else said right before, within a day.
    """
    return tuple([await _add_context(unit, reader) for unit in units])


async def _add_context(unit: Unit, reader: StoreReader) -> Unit:
    first, *more = unit.messages
    said = [] if more else await reader.messages_before(first.session, first.position, 1)
    asked = [one for one in said if one.speaker != first.speaker and abs(first.at - one.at) <= CONTEXT_SPAN]
    turns = await reader.items_from([one.id for one in asked], [ItemKind.TURN])
    return replace(unit, before=turns[-1] if turns else None)


async def find_nearest(
    reader: StoreReader, vector: Vector, kind: ItemKind, count: int, *, floor: float = -1.0
) -> list[tuple[Item, float]]:
    """Return valid items of a kind with their cosines, the nearest first.

    Args:
        reader: the bank.
        vector: the vector to compare with, float32 of shape ``(dimension,)``, of length 1.
        kind: the kind of the items.
        count: the maximal number of items.
        floor: the minimal cosine.
    """
    probe = SearchProbe(topic="", vector=vector, terms=np.empty(0, dtype=np.uint32))
    search = await reader.search(probe, Scope(kinds=(kind,)), _OWN_MEANING)
    hits = await search.semantic(count)
    near = hits.scores >= floor
    scores = dict(zip(hits.refs[near].tolist(), hits.scores[near].tolist(), strict=True))
    return [(item, scores[ref]) for ref, item in await search.load(hits.refs[near])]


async def find_candidates(
    unit: Unit, vector: Vector, reader: StoreReader, *, k: int, floor: float
) -> tuple[dict[str, Unit], list[UnitCandidate]]:
    """Return the unit itself, and then the candidates for its relevant set (equation 5), as units and as candidates.

    The result is empty if the unit was forgotten between two reads.

    Args:
        unit: the new unit.
        vector: its vector, float32 of shape ``(dimension,)``.
        reader: the bank.
        k: the maximal number of units from before it, the nearest first.
        floor: the minimal cosine.
    """
    near, places = await _find_earlier(unit, vector, reader, k=k, floor=floor)
    found = [(unit.item, 1.0), *near]
    told = await find_told_messages((item for item, _ in found), reader)
    units = await make_units((item for item, _ in found), reader)
    if unit.id not in units:
        return {}, []
    return units, [
        UnitCandidate(
            id=item.id,
            place=places[item.id],
            at=item.mentioned,
            cosine=cosine,
            is_consolidated=not told.isdisjoint(item.sources),
        )
        for item, cosine in found
        if item.id in units and item.id in places
    ]


async def _find_earlier(
    unit: Unit, vector: Vector, reader: StoreReader, *, k: int, floor: float
) -> tuple[list[tuple[Item, float]], dict[str, Place]]:
    """Return the units near a unit that were stored before it, and the places of all these units.

    If a bank was filled at once, most near units may have come later. So the search is extended until there are enough
    units from before, or until no other unit reaches the floor.
    """
    room = _CUT_MARK * k
    while True:
        found = await find_nearest(reader, vector, ItemKind.TURN, room, floor=floor)
        places = await _load_places([unit.item, *(item for item, _ in found)], reader)
        own = places.get(unit.id, (-1, 0))  # a forgotten unit has no units before it
        before = [(item, cosine) for item, cosine in found if item.id in places and places[item.id] < own]
        if len(found) < room or len(before) >= k:
            return before[:k], places
        room *= _CUT_MARK


async def _load_places(turns: Sequence[Item], reader: StoreReader) -> dict[str, Place]:
    """Return the places of turns: the position of their first message among the stored ones, and the passage."""
    kept = await reader.messages({turn.sources[0] for turn in turns})
    order = {message.id: at for at, message in enumerate(kept)}
    return {turn.id: (order[turn.sources[0]], turn.order) for turn in turns if turn.sources[0] in order}


async def find_told_messages(turns: Iterable[Item], reader: StoreReader) -> frozenset[str]:
    """Return the ids of those messages of these turns that are in a valid episode."""
    sources = {source for turn in turns for source in turn.sources}
    episodes = await reader.items_from(sources, [ItemKind.EPISODE])
    return frozenset(source for episode in episodes for source in episode.sources if source in sources)


def number_units(units: Sequence[Unit], characters: int) -> str:
    """Return units for a prompt, numbered from 1, one on each line.

    Text longer than ``characters`` characters is cut.
    """
    return "\n".join(f"[{number}] {render_unit(unit, characters)}" for number, unit in enumerate(units, start=1))


def render_unit(unit: Unit, characters: int) -> str:
    """Return the time, the speaker and the words of a unit.

    Its further lines are indented, so that none of them looks like another unit. The turn that it answers is under it,
    in brackets.
    """
    said = f"{format_moment(unit.item.mentioned)}, {_render_words(unit.item, characters)}"
    return (
        said if unit.before is None else f"{said}\n    ({ANSWERING} {_render_words(unit.before, NEIGHBOUR_CHARACTERS)})"
    )


def _render_words(turn: Item, characters: int) -> str:
    return f"{join_lines(turn.speaker)}: {indent_lines(cut_text(turn.text, characters))}"


def cut_text(text: str, characters: int) -> str:
    """Return at most ``characters`` characters of a text. If the text was cut, a note says so."""
    return text if len(text) <= characters else f"{text[:characters].rstrip()} [cut off here]"
