"""Stub replies for RecMem: episodes of 3 to 6 sentences, and facts of one sentence (appendix F)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from recollect.methods.recmem.episodes import EpisodesReply, ExtractedEpisode, MergeReply
from recollect.methods.recmem.refinement import MOST_FACTS, ExtractedSemanticFact, FactsReply
from recollect.models.language import Prompt
from recollect_lab.cost.excerpts import (
    ShownMessage,
    clip_words,
    compute_share,
    find_content_words,
    find_iso_day,
    parse_exchange,
    parse_exchanges,
    split_entries,
    split_evenly,
    split_sections,
    split_sentences,
)

FEWEST_SENTENCES, MOST_SENTENCES = 3, 6
"""The sentences of an episode: "3 to 6 sentences" (figure 8)."""

SENTENCE_WORDS: Final = 20
"""The words of a plain sentence, without the name and the day."""

FACT_WORDS: Final = 18
"""The words of a fact. A fact is one sentence (figure 11). There are fewer than ten facts (figure 9), one for each
exchange.
"""

SAME_THREAD: Final = 0.4
"""The share of an exchange's content words that an episode must have for a merge.

This value is ours. Nothing is published on how often a model decides to merge.
"""

KNOWN, CHANGED = 0.9, 0.5
"""The shares of a fact's content words that a known fact must have.

From the first share on, the new fact is not new. From the second on, it replaces the known fact.
"""

_STOPS: Final = re.compile(r"[.!?…\s]+")


def write_merge(prompt: Prompt) -> MergeReply:
    """Return a merge if the exchange and the episode share enough words.

    The merged episode has one more sentence. If it then has too many, only the first sentence and the last ones are
    kept.
    """
    shown = split_sections(prompt.text)
    told, new = split_sentences(" ".join(shown["episode"].split())), parse_exchange(shown["new_exchange"])
    if compute_share(new.words, find_content_words(shown["episode"])) < SAME_THREAD:
        return MergeReply(merge=False)
    whole = [*told, *_write_sentences(new, 1)]
    kept = whole if len(whole) <= MOST_SENTENCES else [whole[0], *whole[1 - MOST_SENTENCES :]]
    return MergeReply(merge=True, episode=" ".join(kept))


def write_episodes(prompt: Prompt) -> EpisodesReply:
    """Return an episode for every six exchanges, with one sentence from each.

    If an episode would have fewer than three sentences, each exchange has more.
    """
    said = parse_exchanges(split_sections(prompt.text)["exchanges"])
    count = -(-len(said) // MOST_SENTENCES)
    return EpisodesReply(episodes=tuple(map(_write_episode, split_evenly(said, count))))


def _write_episode(said: Sequence[ShownMessage]) -> ExtractedEpisode:
    each = -(-FEWEST_SENTENCES // len(said))
    return ExtractedEpisode(
        text=" ".join(sentence for one in said for sentence in _write_sentences(one, each)),
        exchanges=tuple(one.number for one in said),
    )


def _write_sentences(said: ShownMessage, most: int) -> list[str]:
    """Return an exchange in its own words, as up to ``most`` sentences. Punctuation that ends sentences is removed from
    it.
    """
    words = _STOPS.sub(" ", said.words).split()
    starts = range(0, min(len(words), most * SENTENCE_WORDS), SENTENCE_WORDS)
    day = said.moment.rpartition(",")[0]
    parts = [" ".join(words[at : at + SENTENCE_WORDS]) for at in starts] or ["something without words"]
    return [f"On {day} {said.speaker} said {part}." for part in parts]


def write_semantic_facts(prompt: Prompt) -> FactsReply:
    """Return a fact for each exchange, in the words of its longest sentence, unless a known fact has nearly all its
    words.
    """
    shown = split_sections(prompt.text)
    known = {entry.number: find_content_words(entry.text) for entry in split_entries(shown.get("known_facts", ""))}
    facts = (_write_fact(one, known) for one in parse_exchanges(shown["exchanges"]))
    return FactsReply(facts=tuple(fact for fact in facts if fact is not None)[:MOST_FACTS])


def _write_fact(said: ShownMessage, known: Mapping[int, frozenset[str]]) -> ExtractedSemanticFact | None:
    longest = max(split_sentences(said.words), key=lambda one: len(find_content_words(one)), default="")
    if not longest:
        return None
    text = f"{said.speaker} said {clip_words(longest, FACT_WORDS)}"
    shares = {number: compute_share(text, told) for number, told in known.items()}
    nearest = max(shares, key=lambda number: (shares[number], -number), default=None)
    if nearest is not None and shares[nearest] >= KNOWN:
        return None
    changed = nearest is not None and shares[nearest] >= CHANGED
    return ExtractedSemanticFact(
        text=text,
        type="update" if changed else "event",
        exchanges=(said.number,),
        start=find_iso_day(said.moment),
        replaces=(nearest,) if changed and nearest is not None else (),
    )
