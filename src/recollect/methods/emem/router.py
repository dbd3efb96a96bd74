"""Route a question to the segments that are read for it, without a model (E-mem, section 3.3)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from recollect._threads import run_in_thread
from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Query, Scope
from recollect.domain.recalls import ArmStatus, Recall, RecallReceipt
from recollect.domain.segments import Segment
from recollect.errors import RecallFailed
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.activation import (
    ActivatedSegment,
    TurnHit,
    activate,
    assign_segments,
    combine_strengths,
    sum_by_segment,
    unite_rankings,
)
from recollect.methods.emem.evidence import fit_evidence
from recollect.methods.emem.pathways import (
    TURN_PATHWAYS,
    PathwayResult,
    SegmentStrengths,
    build_input,
    list_reports,
    run_pathways,
    sum_pathway_weight,
)
from recollect.methods.emem.segment_lookup import find_segments
from recollect.methods.emem.segment_view import make_segment_id, read_segment_views
from recollect.methods.emem.settings import Pathway, RouteSettings
from recollect.recall.analyze import read_question
from recollect.retain.extractive_summary import make_summary_id
from recollect.store.capabilities import require_segments
from recollect.store.protocol import Capability, StoreReader
from recollect.store.search import Search

NOT_KEPT: Final = "the store of this bank keeps no segments, and single items stand in"
NO_SEGMENTS: Final = "the bank holds no segments: its messages were kept by another recipe, and single items stand in"

_UNION_NOTE: Final = "union"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedSegments:
    """The segments to read, the strongest first, and how they were found.

    ``segments`` are those that were read from the bank for that, by their numbers.
    """

    activated: tuple[ActivatedSegment, ...]
    segments: Mapping[int, Segment]
    receipt: RecallReceipt

    @property
    def as_recall(self) -> Recall:
        """Return the routing as a recall without evidence of its own."""
        return Recall(evidence=(), receipt=self.receipt)


class Router:
    """Activates segments. As a retriever, it returns their text as evidence. See :class:`recollect.ports.Retriever`.

    ``plain`` is the retriever of single items behind it.
    """

    def __init__(self, parts: Dependencies, settings: RouteSettings | None = None) -> None:
        self._embedder, self._settings = parts.embedder, settings or RouteSettings()
        self.plain = parts.retriever

    async def decline_reason(self, query: Query, reader: StoreReader) -> str | None:
        """Return the reason, for a receipt, why a question is not for segments. It is "" if the query asks for other
        kinds.

        It is ``None`` if the question is for segments.
        """
        kinds = query.kinds
        if kinds and ItemKind.SEGMENT not in kinds:
            return ""
        if Capability.SEGMENTS not in reader.capabilities:
            return NOT_KEPT
        return None if await require_segments(reader).stream() is not None else NO_SEGMENTS

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Return segments: whole ones as far as the tokens of the query allow, then the parts that were found in the
        others.

        If the query names other kinds than segments, or the bank has no segments, single items are returned.

        Raises:
            RecallFailed: no pathway could search.
            ModelUnavailable: the embedder could not be reached, and single items were requested.
        """
        why_not = await self.decline_reason(query, reader)
        if why_not is not None:
            return _with_note(await self.plain.retrieve(query, reader), why_not)
        began = time.perf_counter()
        routed = await self.route(query, reader)
        numbers = [one.number for one in routed.activated]
        readings = await read_segment_views(require_segments(reader), numbers, query.scope, routed.segments)
        pairs = [pair for pair in zip(routed.activated, readings, strict=True) if pair[1].text]
        evidence, cut = await run_in_thread(fit_evidence, pairs, query.max_tokens)
        receipt = replace(
            routed.receipt,
            cut_by_budget=cut,
            tokens=sum(one.tokens for one in evidence),
            seconds=time.perf_counter() - began,
        )
        return Recall(evidence=evidence, receipt=receipt)

    async def route(self, query: Query, reader: StoreReader) -> RoutedSegments:
        """Activate at most as many segments as the settings and the query allow (equation 5).

        Raises:
            RecallFailed: no pathway could search.
        """
        began = time.perf_counter()
        question = await read_question(query, await reader.speakers())
        view = await build_input(question, query, reader, self._embedder, self._settings)
        looked = await run_pathways(view)
        _require_working_pathway(looked)
        weights = {
            pathway: sum_pathway_weight(pathway, self._settings) for pathway in looked if _has_worked(looked[pathway])
        }
        items = await _load(looked, view.search)
        turns = _list_turns(looked, items)
        by_summary = _collect_summary_strengths(looked, items)
        placed = await find_segments(
            [items[ref] for ref in turns],
            view.probe.terms,
            require_segments(reader),
            more=(number for one in by_summary.values() for number in one),
        )
        hits = _collect_hits(looked, items, dict(zip(turns, placed.places, strict=True)), weights)
        numbers = assign_segments(hits)
        strengths = _drop_excluded({**sum_by_segment(hits, numbers), **by_summary}, query.scope.exclude)
        found = unite_rankings(list(map(list, strengths.values())))
        unsummed = set(found).difference(await _find_summarized(found, query.scope, reader))
        activated = activate(strengths, min(self._settings.tau, query.limit), weights, unsummed)
        return RoutedSegments(
            activated=tuple(replace(one, hits=_select_hits(one.number, hits, numbers)) for one in activated),
            segments=placed.segments,
            receipt=RecallReceipt(
                arms=tuple(list_reports(looked)),
                fusion=_UNION_NOTE,
                reranker=None,
                candidates=len(found),
                cut_by_limit=len(found) - len(activated),
                cut_by_budget=0,
                tokens=0,
                during=view.probe.during,
                seconds=time.perf_counter() - began,
                notes=(_describe_unplaced(len(turns) - len(hits)),) if len(hits) < len(turns) else (),
                losses=reader.losses,
            ),
        )


async def _load(looked: Mapping[Pathway, PathwayResult], search: Search) -> dict[int, Item]:
    """Return all that the pathways found, by reference, in the order in which it was found."""
    brought = [one.strengths for pathway, one in looked.items() if pathway in TURN_PATHWAYS]
    brought += [one.strengths for pathway, one in looked.items() if pathway not in TURN_PATHWAYS]
    refs = list(dict.fromkeys(ref for one in brought for ref in one))
    return dict(await search.load(np.array(refs, dtype=np.int64))) if refs else {}


def _list_turns(looked: Mapping[Pathway, PathwayResult], items: Mapping[int, Item]) -> list[int]:
    """Return the references of the turns that were found, in the order in which they were found."""
    refs = (ref for pathway, one in looked.items() if pathway in TURN_PATHWAYS for ref in one.strengths)
    return [ref for ref in dict.fromkeys(refs) if ref in items]


def _collect_hits(
    looked: Mapping[Pathway, PathwayResult],
    items: Mapping[int, Item],
    places: Mapping[int, tuple[int, ...]],
    weights: Mapping[Pathway, float],
) -> list[TurnHit]:
    """Return the turns that are in a segment, with their segments and their strengths."""
    brought: dict[Pathway, SegmentStrengths] = {p: one.strengths for p, one in looked.items() if p in TURN_PATHWAYS}
    hits: list[TurnHit] = []
    for ref, segments in places.items():
        if not segments:
            continue
        strengths: dict[Pathway, float] = {p: one[ref] for p, one in brought.items() if ref in one}
        hits.append(
            TurnHit(
                words=items[ref].text,
                messages=items[ref].sources,
                segments=segments,
                strengths=strengths,
                strength=combine_strengths(strengths, weights),
            )
        )
    return hits


def _collect_summary_strengths(
    looked: Mapping[Pathway, PathwayResult], items: Mapping[int, Item]
) -> dict[Pathway, dict[int, float]]:
    """Return the scores that summaries give their segments."""
    brought: SegmentStrengths = looked[Pathway.SUMMARY].strengths if Pathway.SUMMARY in looked else {}
    segments = {items[ref].order: strength for ref, strength in brought.items() if ref in items}
    return {Pathway.SUMMARY: segments} if segments else {}


async def _find_summarized(numbers: Iterable[int], scope: Scope, reader: StoreReader) -> list[int]:
    """Return the segments with a summary that the scope allows."""
    return [
        item.order
        for item in await reader.items(map(make_summary_id, numbers))
        if (scope.as_of is None or item.recorded <= scope.as_of) and scope.exclude.isdisjoint((item.id, *item.sources))
    ]


def _select_hits(number: int, hits: Sequence[TurnHit], numbers: Sequence[int]) -> tuple[TurnHit, ...]:
    """Return the turns that count for a segment, the best first."""
    own = [hit for hit, home in zip(hits, numbers, strict=True) if home == number]
    return tuple(sorted(own, key=lambda hit: -hit.strength))


def _drop_excluded(
    strengths: Mapping[Pathway, Mapping[int, float]], exclude: frozenset[str]
) -> dict[Pathway, dict[int, float]]:
    """Return the scores of the segments that are not excluded."""
    return {
        pathway: {number: strength for number, strength in brought.items() if make_segment_id(number) not in exclude}
        for pathway, brought in strengths.items()
    }


def _has_worked(looked: PathwayResult) -> bool:
    return looked.report.status is ArmStatus.OK or bool(looked.strengths)


def _require_working_pathway(looked: Mapping[Pathway, PathwayResult]) -> None:
    """Raise RecallFailed if no pathway could search, because an empty answer must mean that there is nothing to
    find.
    """
    reports = list_reports(looked)
    broken = [one for one in reports if one.status in (ArmStatus.FAILED, ArmStatus.TIMEOUT)]
    if broken and not any(one.status is ArmStatus.OK for one in reports):
        raise RecallFailed("no pathway answered: " + "; ".join(f"{one.arm}: {one.note}" for one in broken))


def _with_note(found: Recall, note: str) -> Recall:
    if not note:
        return found
    return replace(found, receipt=replace(found.receipt, notes=(*found.receipt.notes, note)))


def _describe_unplaced(nowhere: int) -> str:
    return f"{nowhere} of the turns that were found stand in no segment yet"
