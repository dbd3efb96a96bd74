"""Segments as evidence: whole where there is room, else what was found in them."""

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
"""The label of evidence that is not a whole segment, but some of it."""

ActivatedReadings = Sequence[tuple[ActivatedSegment, SegmentView]]


def fit_evidence(pairs: ActivatedReadings, max_tokens: int | None) -> tuple[tuple[Evidence, ...], int]:
    """Segments, the strongest first, in at most so many tokens; and how many of them are not whole.

    They are whole as long as they fit (Hindsight, equation 17). What room is left where the first does not fit is
    shared by all from there on: it goes to the lines of the best turns, whosever they are, and to the words of turns
    whose lines are too long for it. A segment of which nothing that was found fits is left out.
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
    """What is read of a segment; of its messages those that it was found by come first."""
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
