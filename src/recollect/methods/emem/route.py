"""Routing (E-mem, section 3.3): from a question to the segments that are read for it, without a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Probe, Query, Scope
from recollect.domain.recalls import ArmStatus, Recall, RecallReceipt
from recollect.errors import RecallFailed
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.activation import Activated, Hit, activate, by_segment, combined, homes, union
from recollect.methods.emem.evidence import evidence_within
from recollect.methods.emem.pathways import TO_TURNS, Brought, Looked, look, reports_of, view_for, weight_of
from recollect.methods.emem.places import places_of
from recollect.methods.emem.reading import read_scoped, segment_id
from recollect.methods.emem.settings import Pathway, RouteSettings
from recollect.recall.analyze import read_question
from recollect.retain.summarise import summary_id
from recollect.store.capabilities import SegmentReader, require_segments
from recollect.store.protocol import Capability, StoreReader
from recollect.store.search import Search

NOT_KEPT: Final = "the store of this bank keeps no segments, and single items stand in"
NO_SEGMENTS: Final = "the bank holds no segments: its messages were kept by another recipe, and single items stand in"

_UNION: Final = "union"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """The segments that take part, the strongest first, and how they were found."""

    activated: tuple[Activated, ...]
    receipt: RecallReceipt

    @property
    def recall(self) -> Recall:
        """The routing as a recall that has brought no evidence by itself."""
        return Recall(evidence=(), receipt=self.receipt)


class Router:
    """Activates segments; as a retriever, gives their words as evidence. See :class:`recollect.ports.Retriever`.

    ``plain`` is the retriever of single items that it is built over.
    """

    def __init__(self, parts: Dependencies, settings: RouteSettings | None = None) -> None:
        self._embedder, self._settings = parts.embedder, settings or RouteSettings()
        self.plain = parts.retriever

    async def declines(self, query: Query, reader: StoreReader) -> str | None:
        """Why a question is not for segments, for a receipt: ``""`` where it asks for other kinds.

        ``None`` where it is for segments.
        """
        kinds = query.kinds
        if kinds and ItemKind.SEGMENT not in kinds:
            return ""
        if Capability.SEGMENTS not in reader.capabilities:
            return NOT_KEPT
        return None if await require_segments(reader).stream() is not None else NO_SEGMENTS

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Find segments: whole, as far as the query's tokens go, then what was found in the others.

        Where the query names other kinds than segments, or the bank has none, single items are found instead.

        Raises:
            RecallFailed: no pathway could look.
            ModelUnavailable: the embedder could not be reached, and single items were asked for.
        """
        why_not = await self.declines(query, reader)
        if why_not is not None:
            return _noted(await self.plain.retrieve(query, reader), why_not)
        began = time.perf_counter()
        routed = await self.route(query, reader)
        numbers = [one.number for one in routed.activated]
        readings = await read_scoped(require_segments(reader), numbers, query.scope)
        pairs = [pair for pair in zip(routed.activated, readings, strict=True) if pair[1].text]
        evidence, cut = await asyncio.to_thread(evidence_within, pairs, query.max_tokens)
        receipt = replace(
            routed.receipt,
            cut_by_budget=cut,
            tokens=sum(one.tokens for one in evidence),
            seconds=time.perf_counter() - began,
        )
        return Recall(evidence=evidence, receipt=receipt)

    async def route(self, query: Query, reader: StoreReader) -> Routed:
        """Activate at most as many segments as the settings and the query allow (equation 5).

        Raises:
            RecallFailed: no pathway could look.
        """
        began = time.perf_counter()
        question = read_question(query, await reader.speakers())
        view = await view_for(question, query, reader, self._embedder, self._settings)
        looked = await look(view)
        _require_one(looked)
        weights = {pathway: weight_of(pathway, self._settings) for pathway in looked if _works(looked[pathway])}
        items = await _load(looked, view.search)
        hits, nowhere = await _hits(looked, items, view.probe, require_segments(reader), weights)
        numbers = homes(hits)
        strengths = _open({**by_segment(hits, numbers), **_by_summary(looked, items)}, query.scope.exclude)
        found = union(list(map(list, strengths.values())))
        unsummed = set(found).difference(await _summed(found, query.scope, reader))
        activated = activate(strengths, min(self._settings.tau, query.limit), weights, unsummed)
        return Routed(
            activated=tuple(replace(one, hits=_hits_in(one.number, hits, numbers)) for one in activated),
            receipt=RecallReceipt(
                arms=tuple(reports_of(looked)),
                fusion=_UNION,
                reranker=None,
                candidates=len(found),
                cut_by_limit=len(found) - len(activated),
                cut_by_budget=0,
                tokens=0,
                during=view.probe.during,
                seconds=time.perf_counter() - began,
                notes=(_told_of(nowhere),) if nowhere else (),
            ),
        )


async def _load(looked: Mapping[Pathway, Looked], search: Search) -> dict[int, Item]:
    """Return all that the pathways found, by reference, in the order in which it was found."""
    brought = [one.brought for pathway, one in looked.items() if pathway in TO_TURNS]
    brought += [one.brought for pathway, one in looked.items() if pathway not in TO_TURNS]
    refs = list(dict.fromkeys(ref for one in brought for ref in one))
    return dict(await search.load(np.array(refs, dtype=np.int64))) if refs else {}


async def _hits(
    looked: Mapping[Pathway, Looked],
    items: Mapping[int, Item],
    probe: Probe,
    reader: SegmentReader,
    weights: Mapping[Pathway, float],
) -> tuple[list[Hit], int]:
    """Return the turns that were found, with their places; and how many stand in no segment."""
    brought: dict[Pathway, Brought] = {p: one.brought for p, one in looked.items() if p in TO_TURNS}
    refs = dict.fromkeys(ref for one in brought.values() for ref in one)
    loaded = [(ref, items[ref]) for ref in refs if ref in items]
    places = await places_of([turn for _, turn in loaded], probe.terms, reader)
    hits: list[Hit] = []
    for (ref, turn), segments in zip(loaded, places, strict=True):
        strengths: dict[Pathway, float] = {p: one[ref] for p, one in brought.items() if ref in one}
        strength = combined(strengths, weights)
        if segments:
            hits.append(
                Hit(words=turn.text, messages=turn.sources, segments=segments, strengths=strengths, strength=strength)
            )
    return hits, len(loaded) - len(hits)


def _by_summary(looked: Mapping[Pathway, Looked], items: Mapping[int, Item]) -> dict[Pathway, dict[int, float]]:
    """Return what the summaries bring their segments."""
    brought: Brought = looked[Pathway.SUMMARY].brought if Pathway.SUMMARY in looked else {}
    segments = {items[ref].order: strength for ref, strength in brought.items() if ref in items}
    return {Pathway.SUMMARY: segments} if segments else {}


async def _summed(numbers: Iterable[int], scope: Scope, reader: StoreReader) -> list[int]:
    """The segments of which a summary could have spoken: they have one that the scope does not hide."""
    return [
        item.order
        for item in await reader.items(map(summary_id, numbers))
        if (scope.as_of is None or item.recorded <= scope.as_of) and scope.exclude.isdisjoint((item.id, *item.sources))
    ]


def _hits_in(number: int, hits: Sequence[Hit], numbers: Sequence[int]) -> tuple[Hit, ...]:
    """The turns that count for a segment, the best first."""
    own = [hit for hit, home in zip(hits, numbers, strict=True) if home == number]
    return tuple(sorted(own, key=lambda hit: -hit.strength))


def _open(strengths: Mapping[Pathway, Mapping[int, float]], exclude: frozenset[str]) -> dict[Pathway, dict[int, float]]:
    """What was brought to segments that may come back."""
    return {
        pathway: {number: strength for number, strength in brought.items() if segment_id(number) not in exclude}
        for pathway, brought in strengths.items()
    }


def _works(looked: Looked) -> bool:
    return looked.report.status is ArmStatus.OK or bool(looked.brought)


def _require_one(looked: Mapping[Pathway, Looked]) -> None:
    """An empty answer must mean that there is nothing, not that nothing worked."""
    reports = reports_of(looked)
    broken = [one for one in reports if one.status in (ArmStatus.FAILED, ArmStatus.TIMEOUT)]
    if broken and not any(one.status is ArmStatus.OK for one in reports):
        raise RecallFailed("no pathway answered: " + "; ".join(f"{one.arm}: {one.note}" for one in broken))


def _noted(found: Recall, note: str) -> Recall:
    if not note:
        return found
    return replace(found, receipt=replace(found.receipt, notes=(*found.receipt.notes, note)))


def _told_of(nowhere: int) -> str:
    return f"{nowhere} of the turns that were found stand in no segment yet"
