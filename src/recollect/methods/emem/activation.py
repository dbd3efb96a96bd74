"""Which segments take part (E-mem, section 3.3): values in, values out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from recollect.domain.recalls import ArmRank
from recollect.methods.emem.settings import Pathway

Strengths = Mapping[Pathway, Mapping[int, float]]
"""What each pathway brings each segment, by the segment's number: 0 for no sign of it, 1 for all one could ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit:
    """A turn that was found: its words, the messages it holds, the segments that hold it, what each pathway brought it.

    That lies between 0 and 1; ``strength`` is what they brought it together.
    """

    words: str = ""
    messages: tuple[str, ...]
    segments: tuple[int, ...]
    strengths: Mapping[Pathway, float]
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivatedSegment:
    """A segment that takes part, with every pathway that brought it; ``strength`` lies between 0 and 1.

    ``hits`` are the turns that it was found by, the best first; none where its summary alone was.
    """

    number: int
    strength: float
    why: tuple[ArmRank, ...]
    hits: tuple[TurnHit, ...] = ()


def assign_segments(hits: Sequence[TurnHit]) -> list[int]:
    """The segment that each turn counts for.

    A turn in the overlap stands in two segments. It counts for the one that has the better turn of its own, so that the
    two do not both take a place for the sake of one turn; the earlier where neither has.
    """
    best: dict[int, float] = {}
    for hit in hits:
        if len(hit.segments) == 1:
            (number,) = hit.segments
            best[number] = max(best.get(number, 0.0), hit.strength)
    return [max(hit.segments, key=lambda number: (best.get(number, 0.0), -number)) for hit in hits]


def sum_by_segment(hits: Sequence[TurnHit], numbers: Sequence[int]) -> dict[Pathway, dict[int, float]]:
    """What each pathway brings each segment: as much as its best turn there; ``numbers`` say where each turn counts."""
    brought: dict[Pathway, dict[int, float]] = {}
    for hit, number in zip(hits, numbers, strict=True):
        for pathway, strength in hit.strengths.items():
            segments = brought.setdefault(pathway, {})
            segments[number] = max(segments.get(number, 0.0), strength)
    return brought


def combine_strengths(strengths: Mapping[Pathway, float], weights: Mapping[Pathway, float]) -> float:
    """What several pathways bring together (equation 2): the mean by weight, nothing where a pathway brings nothing."""
    most = sum(weights.values()) or 1.0
    return sum(weights.get(pathway, 0.0) * strength for pathway, strength in strengths.items()) / most


def activate(
    strengths: Strengths, tau: int, weights: Mapping[Pathway, float], unsummed: Collection[int] = ()
) -> tuple[ActivatedSegment, ...]:
    """The union of what the pathways activate (equation 5), cut to the ``tau`` strongest segments; the strongest first.

    ``unsummed`` are the segments of which no summary could speak: they count as if one brought what the others' bring
    on average, since that none speaks of them is no sign for or against.

    Strengths add up rather than ranks, since they lie on scales of their own accord: on LoCoMo's development part that
    puts more of the evidence into 4 segments than reciprocal ranks or taking turns do, and to keep a place for the best
    of each pathway costs as much as it brings.
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
    """Every segment that some pathway activates (equation 5), once."""
    return tuple(dict.fromkeys(number for ranking in rankings for number in ranking))


def rank_segments(brought: Mapping[int, float]) -> list[int]:
    """Segments by what they were brought, the best first; equal ones in the order of the stream."""
    return sorted(brought, key=lambda number: (-brought[number], number))


def _collect_ranks(number: int, rankings: Mapping[Pathway, Sequence[int]], strengths: Strengths) -> tuple[ArmRank, ...]:
    return tuple(
        ArmRank(arm=pathway.value, rank=ranking.index(number) + 1, score=strengths[pathway][number])
        for pathway, ranking in rankings.items()
        if number in ranking
    )
