"""Turn segments into evidence: whole if there is space, or else the parts that were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.domain.items import Item, ItemKind
from recollect.domain.recalls import Evidence, make_evidence
from recollect.methods.emem.activation import ActivatedSegment
from recollect.methods.emem.excerpts import build_excerpts
from recollect.methods.emem.segment_view import SegmentView
from recollect.recall.trim import count_fitting
from recollect.text.tokens import count_all, count_tokens

EXCERPT: Final = "excerpt"
"""The label of evidence that is only part of a segment."""

ActivatedReadings = Sequence[tuple[ActivatedSegment, SegmentView]]


def fit_evidence(pairs: ActivatedReadings, max_tokens: int | None) -> tuple[tuple[Evidence, ...], int]:
    """Return segments, the strongest first, in at most ``max_tokens`` tokens, and how many of them are not whole.

    Segments are whole as long as they fit (Hindsight, equation 17). From the first one that does not fit, the rest of
    the space is shared: it goes to the lines of the best turns of any segment, and for a line that is too long to the
    words that were found in it. A segment without any found text that fits is left out.
    """
    tokens = count_all([reading.text for _, reading in pairs])
    whole = count_fitting(tokens, max_tokens)
    rest = pairs[whole:]
    left = 0 if max_tokens is None else max_tokens - sum(tokens[:whole])
    hits = sorted(((hit, reading) for one, reading in rest for hit in one.hits), key=lambda pair: -pair[0].strength)
    parts = build_excerpts(hits, left)
    found = [_make_evidence(one, reading) for one, reading in pairs[:whole]]
    cut = [_make_evidence(one, parts[reading.number], EXCERPT) for one, reading in rest if reading.number in parts]
    return (*found, *cut), len(rest)


def _make_evidence(one: ActivatedSegment, reading: SegmentView, label: str = "") -> Evidence:
    """Return a segment as evidence. The messages that led to it come first among its sources."""
    messages = {passage.message.id: passage.message for passage in reading.passages}
    found = dict.fromkeys(id_ for hit in one.hits for id_ in hit.messages if id_ in messages)
    first = reading.passages[0].message
    segment = Item(
        id=reading.id,
        kind=ItemKind.SEGMENT,
        text=reading.text,
        session=first.session,
        speaker=", ".join(dict.fromkeys(message.speaker for message in messages.values())),
        sources=tuple({**found, **dict.fromkeys(messages)}),
        mentioned=first.at,
        recorded=max(message.recorded for message in messages.values()),
        order=reading.number,
        tokens=count_tokens(reading.text),
        label=label,
    )
    return make_evidence(segment, one.strength, one.why)
