"""Stub replies for eager extraction: one to three facts from a pair of messages, each a short sentence (Mem0, section
2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from recollect.models.language import Prompt
from recollect_lab.cost.eager import ExtractedMemories, ExtractedMemory
from recollect_lab.cost.excerpts import (
    ShownMessage,
    clip_words,
    compute_share,
    find_content_words,
    parse_messages,
    split_entries,
    split_sections,
    split_sentences,
)

MOST_FACTS: Final = 3
"""The most facts of a pair of messages: one to three, as in the paper's examples."""

FACT_WORDS: Final = 18
"""The words of a plain sentence. With the speaker's name it has about 20 words."""

FEWEST_CONTENT_WORDS: Final = 5
"""The fewest content words of a sentence that is not small talk."""

KNOWN, CHANGED = 0.9, 0.5
"""The shares of a fact's content words that a note must have to count as the same fact, or to be replaced by it."""


def write_memories(prompt: Prompt) -> ExtractedMemories:
    """Return a fact for each of the most informative sentences, in their order. The result is empty if all is small
    talk.

    The action for a fact depends on the words that it shares with the most similar note. Words do not show that
    something has ended, so nothing is ever deleted.
    """
    shown = split_sections(prompt.text)
    notes = {entry.number: find_content_words(entry.text) for entry in split_entries(shown["memories"])}
    facts = [
        f"{one.speaker} said {clip_words(sentence, FACT_WORDS)}"
        for one, sentence in _select_sentences(parse_messages(shown["messages"]))
    ]
    return ExtractedMemories(memories=tuple(_decide_action(fact, notes) for fact in facts))


def _select_sentences(said_by: Sequence[ShownMessage]) -> list[tuple[ShownMessage, str]]:
    """Return the sentences with the most content words, in the order in which they were said."""
    said = [(one, sentence) for one in said_by for sentence in split_sentences(one.words)]
    weights = [len(find_content_words(sentence)) for _, sentence in said]
    best = sorted((-weight, at) for at, weight in enumerate(weights) if weight >= FEWEST_CONTENT_WORDS)[:MOST_FACTS]
    return [said[at] for at in sorted(at for _, at in best)]


def _decide_action(fact: str, notes: Mapping[int, frozenset[str]]) -> ExtractedMemory:
    shares = {number: compute_share(fact, told) for number, told in notes.items()}
    nearest = max(shares, key=lambda number: (shares[number], -number), default=None)
    if nearest is None or shares[nearest] < CHANGED:
        return ExtractedMemory(fact=fact, action="ADD")
    action: Literal["NONE", "UPDATE"] = "NONE" if shares[nearest] >= KNOWN else "UPDATE"
    return ExtractedMemory(fact=fact, action=action, memory=nearest)
