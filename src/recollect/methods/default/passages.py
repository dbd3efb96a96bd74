"""Choose the segments to read again: first those that contain the evidence, then those found for the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recollect.domain.items import ItemKind
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmRank, Evidence, Recall
from recollect.methods.default.recording import RecordingRetriever, RecordRecall
from recollect.methods.emem.activation import ActivatedSegment
from recollect.methods.emem.router import RoutedSegments, Router
from recollect.methods.emem.segment_lookup import find_segments
from recollect.methods.emem.segment_view import make_segment_id
from recollect.store.capabilities import require_segments
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms

HOLDS_EVIDENCE: Final = "evidence"
"""The reason to activate a segment that contains evidence, in addition to E-mem's pathways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFirstRouter:
    """The router that begins with the segments that contain evidence.

    See :class:`recollect.methods.emem.answer.SegmentRouter`.

    ``refinement`` are words for what the evidence leaves open. The other segments are found by these words and the
    question. ``record`` receives each recall.
    """

    router: Router
    evidence: Sequence[Evidence]
    refinement: str
    tau: int
    record: RecordRecall

    async def decline_reason(self, query: Query, reader: StoreReader) -> str | None:
        """See :meth:`Router.decline_reason`."""
        return await self.router.decline_reason(query, reader)

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """See :meth:`Router.retrieve`."""
        return await RecordingRetriever(self.router, self.record).retrieve(query, reader)

    async def route(self, query: Query, reader: StoreReader) -> RoutedSegments:
        """Return at most ``tau`` segments: those that contain the evidence, then those that the router finds.

        Raises:
            RecallFailed: no pathway could search.
        """
        routed = await self.router.route(replace(query, text=f"{query.text} {self.refinement}".strip()), reader)
        self.record(routed.as_recall)
        sources = dict.fromkeys(id_ for one in self.evidence for id_ in one.sources)
        turns = await reader.items_from(list(sources), [ItemKind.TURN])
        found = await find_segments(turns, extract_terms(query.text), require_segments(reader))
        numbers = choose_cover({turn.id: places for turn, places in zip(turns, found.places, strict=True)})
        open_ = [number for number in numbers if make_segment_id(number) not in query.scope.exclude]
        activated = put_holders_first(open_, routed.activated)[: self.tau]
        return replace(routed, activated=activated, segments={**routed.segments, **found.segments})


def choose_cover(held: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """Return as few segments as possible that together contain all turns.

    Each step chooses the segment with the most remaining turns, and the earliest of equal ones. A turn in no segment is
    ignored.

    Args:
        held: for each turn, the numbers of the segments that contain it.
    """
    left = {turn: set(numbers) for turn, numbers in held.items() if numbers}
    chosen: list[int] = []
    while left:
        numbers = sorted({number for found in left.values() for number in found})
        best = max(numbers, key=lambda number: sum(number in found for found in left.values()))
        left = {turn: found for turn, found in left.items() if best not in found}
        chosen.append(best)
    return tuple(chosen)


def put_holders_first(numbers: Sequence[int], activated: Sequence[ActivatedSegment]) -> tuple[ActivatedSegment, ...]:
    """Return the segments that contain evidence, and then the other segments that were found.

    A segment that is both also keeps the pathways that found it.
    """
    found = {one.number: one for one in activated}
    held = []
    for rank, number in enumerate(numbers, start=1):
        one = found.pop(number, ActivatedSegment(number=number, strength=1.0, why=()))
        why = (ArmRank(arm=HOLDS_EVIDENCE, rank=rank, score=1.0), *one.why)
        held.append(replace(one, strength=1.0, why=why))  # no segment found by similarity comes before these
    return (*held, *found.values())
