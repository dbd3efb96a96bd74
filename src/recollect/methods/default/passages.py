"""Which segments are read again: those that hold the evidence, then those that are found for the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recollect.domain.items import ItemKind
from recollect.domain.queries import Query
from recollect.domain.recalls import Evidence, Recall, Why
from recollect.methods.default.spending import Keep, Kept
from recollect.methods.emem.activation import Activated
from recollect.methods.emem.places import places_of
from recollect.methods.emem.reading import segment_id
from recollect.methods.emem.route import Routed, Router
from recollect.store.capabilities import require_segments
from recollect.store.protocol import StoreReader
from recollect.text.terms import terms

HOLDS: Final = "evidence"
"""What a segment is activated by that holds evidence, beside E-mem's pathways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingRouter:
    """A router that begins with the segments that hold evidence; see :class:`recollect.methods.emem.answer.Routes`.

    ``sought`` are words that find what the evidence leaves open: the others are found by these and the question.
    ``keep`` is told of each recall.
    """

    router: Router
    held: Sequence[Evidence]
    sought: str
    tau: int
    keep: Keep

    async def declines(self, query: Query, reader: StoreReader) -> str | None:
        """See :meth:`Router.declines`."""
        return await self.router.declines(query, reader)

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """See :meth:`Router.retrieve`."""
        return await Kept(self.router, self.keep).retrieve(query, reader)

    async def route(self, query: Query, reader: StoreReader) -> Routed:
        """At most ``tau`` segments: those that hold the evidence, then those that the router finds.

        Raises:
            RecallFailed: no pathway could look.
        """
        routed = await self.router.route(replace(query, text=f"{query.text} {self.sought}".strip()), reader)
        self.keep(routed.recall)
        sources = dict.fromkeys(id_ for one in self.held for id_ in one.sources)
        turns = await reader.items_from(list(sources), [ItemKind.TURN])
        places = await places_of(turns, terms(query.text), require_segments(reader))
        numbers = covering({turn.id: found for turn, found in zip(turns, places, strict=True)})
        open_ = [number for number in numbers if segment_id(number) not in query.scope.exclude]
        return replace(routed, activated=holding_first(open_, routed.activated)[: self.tau])


def covering(held: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """As few segments as hold all turns, the one that holds most of them first; the earlier of equal ones.

    Args:
        held: for each turn the numbers of the segments that hold it.
    """
    left = {turn: set(numbers) for turn, numbers in held.items() if numbers}
    chosen: list[int] = []
    while left:
        numbers = sorted({number for found in left.values() for number in found})
        best = max(numbers, key=lambda number: sum(number in found for found in left.values()))
        left = {turn: found for turn, found in left.items() if best not in found}
        chosen.append(best)
    return tuple(chosen)


def holding_first(numbers: Sequence[int], activated: Sequence[Activated]) -> tuple[Activated, ...]:
    """Segments that hold evidence before those that were found; one that is both keeps what it was found by."""
    found = {one.number: one for one in activated}
    held = []
    for rank, number in enumerate(numbers, start=1):
        one = found.pop(number, Activated(number=number, strength=1.0, why=()))
        why = (Why(arm=HOLDS, rank=rank, score=1.0), *one.why)
        held.append(replace(one, strength=1.0, why=why))  # nothing that is found by likeness comes before evidence
    return (*held, *found.values())
