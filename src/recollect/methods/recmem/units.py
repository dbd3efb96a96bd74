"""Units of interaction as consolidation sees them (RecMem, section 3.2): a turn, its messages, where it stands."""

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

_OWN_MEANING: Final = Weights(surroundings=0.0)  # equations 5 and 6 compare items, not where they stand
_CUT_MARK: Final = 4
CONTEXT_SPAN: Final = timedelta(days=1)
"""What was said beside a message was said within so much time of it."""

ANSWERING: Final = "right after"
"""What stands before the words that a unit answers, in a prompt."""

NEIGHBOUR_CHARACTERS: Final = 300
"""So much is shown of what was said beside a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A turn with its messages, in its order; ``before`` is the turn that was said right before it, if it answers one.

    Between people a message is a unit of its own, where the paper's is an exchange: "Yes, gladly" says little alone.
    """

    item: Item
    messages: tuple[StoredMessage, ...]
    before: Item | None = None

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def important(self) -> bool:
        """Whether one of its messages was pinned."""
        return any(message.important for message in self.messages)

    @property
    def salient(self) -> str | None:
        """Why it ought not to be lost, by what was stated in it; what an assistant answers states nothing."""
        return next((why for message in self.messages if (why := find_salience_of(message)) is not None), None)


def find_salience_of(message: StoredMessage) -> str | None:
    """Why a message ought not to be lost (:mod:`recollect.methods.recmem.salience`), if a person said it."""
    return find_salience(message.text) if message.role is Role.USER else None


async def load_units(messages: Sequence[StoredMessage], reader: StoreReader) -> list[Unit]:
    """The units that messages stand in, each once, at the place of the first of the messages.

    Of a message that is too long for one turn, the first passage stands for the unit.
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
        if all(source in said for source in turn.sources)  # else it has been forgotten between two looks
    ]


async def make_units(items: Iterable[Item], reader: StoreReader) -> dict[str, Unit]:
    """Turns as units, by their ids."""
    turns = list(items)
    said = {one.id: one for one in await reader.messages({source for turn in turns for source in turn.sources})}
    whole = (turn for turn in turns if all(source in said for source in turn.sources))
    return {turn.id: Unit(item=turn, messages=tuple(said[source] for source in turn.sources)) for turn in whole}


async def add_context(units: Sequence[Unit], reader: StoreReader) -> tuple[Unit, ...]:
    """Units with what they answer: a message alone, with what somebody else said in the session within a day before."""
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
    """Items of a kind that hold, with their cosines, the nearest first.

    Args:
        reader: the bank.
        vector: what they are near to; float32 of shape ``(dimension,)``, of length 1.
        kind: of which kind.
        count: how many at most.
        floor: none with a lower cosine.
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
    """The unit itself, first, and what its relevant set can be made of (equation 5); as units, and as candidates.

    Nothing is given where the unit has been forgotten between two looks.

    Args:
        unit: the arriving one.
        vector: its vector, float32 of shape ``(dimension,)``.
        reader: the bank.
        k: how many of those kept before it are wanted at most, the nearest first.
        floor: the cosine below which none is.
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
    """The units near one that were kept before it, and where they and it stand.

    In a bank that was filled at once most of what is near may have come later. So it is looked further and further,
    until there are enough from before, or nothing that is left reaches the floor.
    """
    room = _CUT_MARK * k
    while True:
        found = await find_nearest(reader, vector, ItemKind.TURN, room, floor=floor)
        places = await _load_places([unit.item, *(item for item, _ in found)], reader)
        own = places.get(unit.id, (-1, 0))  # of one that is gone, nothing was before it
        before = [(item, cosine) for item, cosine in found if item.id in places and places[item.id] < own]
        if len(found) < room or len(before) >= k:
            return before[:k], places
        room *= _CUT_MARK


async def _load_places(turns: Sequence[Item], reader: StoreReader) -> dict[str, Place]:
    """Where turns stand: the place of their first message among those that were kept, and which passage they are."""
    kept = await reader.messages({turn.sources[0] for turn in turns})
    order = {message.id: at for at, message in enumerate(kept)}
    return {turn.id: (order[turn.sources[0]], turn.order) for turn in turns if turn.sources[0] in order}


async def find_told_messages(turns: Iterable[Item], reader: StoreReader) -> frozenset[str]:
    """The ids of messages that episodes which hold tell of, of those that these turns came from."""
    sources = {source for turn in turns for source in turn.sources}
    episodes = await reader.items_from(sources, [ItemKind.EPISODE])
    return frozenset(source for episode in episodes for source in episode.sources if source in sources)


def number_units(units: Sequence[Unit], characters: int) -> str:
    """Units as a prompt shows them, numbered from 1, a line each; what is longer than so many characters is cut."""
    return "\n".join(f"[{number}] {render_unit(unit, characters)}" for number, unit in enumerate(units, start=1))


def render_unit(unit: Unit, characters: int) -> str:
    """When a unit was said, by whom, and what; its own lines are indented, so that none can pass for another unit.

    What it answers stands under it, in brackets.
    """
    said = f"{format_moment(unit.item.mentioned)}, {_render_words(unit.item, characters)}"
    return (
        said if unit.before is None else f"{said}\n    ({ANSWERING} {_render_words(unit.before, NEIGHBOUR_CHARACTERS)})"
    )


def _render_words(turn: Item, characters: int) -> str:
    return f"{join_lines(turn.speaker)}: {indent_lines(cut_text(turn.text, characters))}"


def cut_text(text: str, characters: int) -> str:
    """At most so many characters of a text, with a word that it is not all."""
    return text if len(text) <= characters else f"{text[:characters].rstrip()} [cut off here]"
