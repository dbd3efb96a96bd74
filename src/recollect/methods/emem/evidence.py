"""Segments as evidence: whole where there is room, else the lines that were found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from recollect.domain.items import ItemKind
from recollect.domain.recalls import Evidence
from recollect.methods.emem.activation import Activated
from recollect.methods.emem.reading import Reading
from recollect.recall.trim import fitting
from recollect.text.tokens import count_all, count_tokens

EXCERPT: Final = "excerpt"
"""The label of evidence that is not a whole segment, but lines of it."""

Pairs = Sequence[tuple[Activated, Reading]]


def evidence_within(pairs: Pairs, max_tokens: int | None) -> tuple[tuple[Evidence, ...], int]:
    """Segments, the strongest first, in at most so many tokens; and how many of them are not whole.

    They are whole as long as they fit (Hindsight, equation 17). What room is left where the first does not fit is
    shared by all from there on: it goes to the lines of the best turns, whosever they are. A segment of which no line
    fits is left out.
    """
    tokens = count_all([reading.text for _, reading in pairs])
    whole = fitting(tokens, max_tokens)
    rest = pairs[whole:]
    left = 0 if max_tokens is None else max_tokens - sum(tokens[:whole])
    lines = best_lines(rest, left)
    excerpts = [excerpt_of(one, reading, lines[reading.number]) for one, reading in rest if lines[reading.number]]
    found = [_evidence(one, reading) for one, reading in pairs[:whole]]
    return (*found, *excerpts), len(rest)


def best_lines(pairs: Pairs, room: int) -> dict[int, set[str]]:
    """For each segment the messages whose lines go into so many tokens: those of the best turns of all segments."""
    readings = {reading.number: reading for _, reading in pairs}
    chosen: dict[int, set[str]] = {number: set() for number in readings}
    hits = [(hit, reading.number) for one, reading in pairs for hit in one.hits]
    for hit, number in sorted(hits, key=lambda pair: -pair[0].strength):
        new = readings[number].only(set(hit.messages) - chosen[number])
        cost = count_tokens(new.text)
        if cost <= room:
            chosen[number].update(passage.message.id for passage in new.passages)
            room -= cost
    return chosen


def excerpt_of(one: Activated, reading: Reading, messages: Collection[str]) -> Evidence:
    """Some of a segment's messages as evidence, in order of time; there has to be one."""
    return _evidence(one, reading.only(messages), EXCERPT)


def _evidence(one: Activated, reading: Reading, label: str = "") -> Evidence:
    """What is read of a segment; of its messages those that it was found by come first."""
    messages = {passage.message.id: passage.message for passage in reading.passages}
    found = dict.fromkeys(id_ for hit in one.hits for id_ in hit.messages if id_ in messages)
    first = reading.passages[0].message
    return Evidence(
        id=reading.id,
        kind=ItemKind.SEGMENT,
        text=reading.text,
        session=first.session,
        speaker=", ".join(dict.fromkeys(message.speaker for message in messages.values())),
        sources=tuple({**found, **dict.fromkeys(messages)}),
        mentioned=first.at,
        occurred=None,
        score=one.strength,
        why=one.why,
        tokens=count_tokens(reading.text),
        label=label,
    )
