"""Decide which segments are read (E-mem, section 3.3). Values in, values out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from recollect.domain.recalls import ArmRank
from recollect.methods.emem.settings import Pathway

Strengths = Mapping[Pathway, Mapping[int, float]]
"""The score of each segment from each pathway, by the number of the segment: 0 for no sign of it, 1 for the best
possible.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit:
    """A turn that was found: its text, its messages, its segments, and its score from each pathway, 0 to 1.

    ``strength`` is the combined score.
    """

    words: str = ""
    messages: tuple[str, ...]
    segments: tuple[int, ...]
    strengths: Mapping[Pathway, float]
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivatedSegment:
    """A segment to read, with every pathway that found it. ``strength`` is 0 to 1.

    ``hits`` are the turns that led to it, the best first. It is empty if only its summary did.
    """

    number: int
    strength: float
    why: tuple[ArmRank, ...]
    hits: tuple[TurnHit, ...] = ()


def assign_segments(hits: Sequence[TurnHit]) -> list[int]:
    """Return the segment for which each turn counts.

    A turn in the overlap is in two segments. It counts for the segment with the better turn outside the overlap, so
    that one turn does not bring in both. If neither has such a turn, it counts for the earlier segment.
    """
    best: dict[int, float] = {}
    for hit in hits:
        if len(hit.segments) == 1:
            (number,) = hit.segments
            best[number] = max(best.get(number, 0.0), hit.strength)
    return [max(hit.segments, key=lambda number: (best.get(number, 0.0), -number)) for hit in hits]


def sum_by_segment(hits: Sequence[TurnHit], numbers: Sequence[int]) -> dict[Pathway, dict[int, float]]:
    """Return each pathway's score for each segment: that of its best turn there. ``numbers`` tell where each turn
    counts.
    """
    brought: dict[Pathway, dict[int, float]] = {}
    for hit, number in zip(hits, numbers, strict=True):
        for pathway, strength in hit.strengths.items():
            segments = brought.setdefault(pathway, {})
            segments[number] = max(segments.get(number, 0.0), strength)
    return brought


def combine_strengths(strengths: Mapping[Pathway, float], weights: Mapping[Pathway, float]) -> float:
    """Combine the scores of several pathways (equation 2): their weighted mean. A pathway without a score counts
    as 0.
    """
    most = sum(weights.values()) or 1.0
    return sum(weights.get(pathway, 0.0) * strength for pathway, strength in strengths.items()) / most


def activate(
    strengths: Strengths, tau: int, weights: Mapping[Pathway, float], unsummed: Collection[int] = ()
) -> tuple[ActivatedSegment, ...]:
    """Return the union of the segments of all pathways (equation 5), cut to the ``tau`` strongest, the strongest first.

    ``unsummed`` are segments without a summary. They get the average summary score of the other segments, because a
    missing summary is not a sign for or against them.

    Scores are added, not ranks, because the pathways have comparable scales. On the development half of LoCoMo this
    brings more evidence into 4 segments than reciprocal ranks or turns by each pathway. A reserved place for the best
    segment of each pathway costs as much as it brings.
    """
    rankings = {pathway: rank_segments(brought) for pathway, brought in strengths.items()}
    average = fmean(strengths.get(Pathway.SUMMARY, {}).values() or (0.0,))
    total: dict[int, float] = {}
    for number in unite_rankings(rankings.values()):
        own = {pathway: brought[number] for pathway, brought in strengths.items() if number in brought}
        total[number] = combine_strengths({Pathway.SUMMARY: average, **own} if number in unsummed else own, weights)
    return tuple(
        ActivatedSegment(number=number, strength=total[number], why=_collect_ranks(number, rankings, strengths))
        for number in rank_segments(total)[:tau]
    )


def unite_rankings(rankings: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return every segment that some pathway found (equation 5), once."""
    return tuple(dict.fromkeys(number for ranking in rankings for number in ranking))


def rank_segments(brought: Mapping[int, float]) -> list[int]:
    """Return segments by their scores, the best first. Equal ones are in the order of the stream."""
    return sorted(brought, key=lambda number: (-brought[number], number))


def _collect_ranks(number: int, rankings: Mapping[Pathway, Sequence[int]], strengths: Strengths) -> tuple[ArmRank, ...]:
    return tuple(
        ArmRank(arm=pathway.value, rank=ranking.index(number) + 1, score=strengths[pathway][number])
        for pathway, ranking in rankings.items()
        if number in ranking
    )
