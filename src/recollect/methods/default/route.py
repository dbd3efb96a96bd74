"""Which way a question goes after its first pass: values in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.answering.evidence import one_line
from recollect.domain.answers import GROUNDS, Ground, Step, Taken, Way
from recollect.domain.loops import Known
from recollect.methods.default.first import FirstPass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A way that came to nothing: ``failure`` says what went wrong; "" where it has found nothing."""

    way: Way
    failure: str = ""


def way(first: FirstPass, closed: str | None) -> Taken:
    """Whether the first pass suffices, and if not, what is done.

    Whole passages go before single snippets where the question needs them, since a loop would look for what it cannot
    put together. Where nothing but a finer precision is missing, the answer at the precision that memory has stands.
    That memory is silent is said only when it has been looked through again.

    Args:
        first: what the first pass has brought.
        closed: why no whole passages can be read; ``None`` where they can.
    """
    missing = "; ".join(one_line(gap.missing) for gap in first.gaps)
    if first.whole:
        if closed is None:
            return Taken(way=Way.PASSAGES, ground=Ground.WHOLE, detail=missing)
        return Taken(way=Way.LOOP, ground=Ground.CLOSED, detail=closed)
    if first.abstained:
        return Taken(way=Way.LOOP, ground=Ground.ABSTAINED, detail=missing or one_line(first.answer))
    if not first.gaps:
        return Taken(way=Way.SUFFICES, ground=Ground.COMPLETE)
    if Known(evidence=first.findings, gaps=first.gaps).lacks_precision_alone:
        return Taken(way=Way.SUFFICES, ground=Ground.PRECISION, detail=missing)
    return Taken(way=Way.LOOP, ground=Ground.GAP, detail=missing)


def fallback_route(first: FirstPass, tried: Tried) -> Taken | None:
    """What is done when a way came to nothing; ``None`` where nothing is left to be done, and nothing is known.

    An answer of the first pass stands then. Where it had none, passages leave the loop to be tried.
    """
    ground = Ground.FAILED if tried.failure else Ground.IN_VAIN
    if not first.abstained:
        return Taken(way=Way.SUFFICES, ground=ground, detail=tried.failure)
    return Taken(way=Way.LOOP, ground=ground, detail=tried.failure) if tried.way is Way.PASSAGES else None


def told(taken: Taken) -> Step:
    """A way as a step of the answer's trace."""
    case = f": {taken.detail}" if taken.detail else ""
    return Step(action="way", detail=f"{taken.way}, since {GROUNDS[taken.ground]}{case}", seconds=0.0)
