"""What a model might note of a pair of messages: one to three facts of one short sentence each (Mem0, section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from recollect.models.language import Prompt
from recollect_lab.cost.eager import Extracted, ExtractedMemories
from recollect_lab.cost.excerpts import (
    Said,
    clipped,
    content_words,
    entries,
    messages,
    sections,
    sentences,
    share_in,
)

MOST: Final = 3
"""Facts of a pair of messages: one to three, as the paper's examples have it."""

FACT_WORDS: Final = 18
"""A plain sentence: beside the name of who said it, some 20 words."""

TELLING: Final = 5
"""A sentence of fewer content words than that is small talk."""

KNOWN, CHANGED = 0.9, 0.5
"""From these shares of a fact's content words on that are in a note, the note tells it already, or gives way to it."""


def noted(prompt: Prompt) -> ExtractedMemories:
    """A fact for each of the sentences that say most, in their order; none where all is small talk.

    What it does to the notes goes by the words that it shares with the one nearest in words. Words do not show that
    something is over, so that nothing is ever deleted.
    """
    shown = sections(prompt.text)
    notes = {entry.number: content_words(entry.text) for entry in entries(shown["memories"])}
    facts = [
        f"{one.speaker} said {clipped(sentence, FACT_WORDS)}" for one, sentence in _telling(messages(shown["messages"]))
    ]
    return ExtractedMemories(memories=tuple(_decided(fact, notes) for fact in facts))


def _telling(said_by: Sequence[Said]) -> list[tuple[Said, str]]:
    """The sentences with most content words, in the order in which they were said."""
    said = [(one, sentence) for one in said_by for sentence in sentences(one.words)]
    weights = [len(content_words(sentence)) for _, sentence in said]
    best = sorted((-weight, at) for at, weight in enumerate(weights) if weight >= TELLING)[:MOST]
    return [said[at] for at in sorted(at for _, at in best)]


def _decided(fact: str, notes: Mapping[int, frozenset[str]]) -> Extracted:
    shares = {number: share_in(fact, told) for number, told in notes.items()}
    nearest = max(shares, key=lambda number: (shares[number], -number), default=None)
    if nearest is None or shares[nearest] < CHANGED:
        return Extracted(fact=fact, action="ADD")
    action: Literal["NONE", "UPDATE"] = "NONE" if shares[nearest] >= KNOWN else "UPDATE"
    return Extracted(fact=fact, action=action, memory=nearest)
