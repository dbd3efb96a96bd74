"""What a model might write for REMem: gists and facts, as many and as long as the paper counts on LoCoMo (table 22).

There 15,966 tokens of talk became 730 gists of 29.8 tokens, the time before each included, and 764 triples over 778
phrases of 6.6 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from recollect.methods.remem.extraction_replies import (
    MOST_FACTS,
    MOST_GISTS,
    ExtractedGist,
    ExtractedGists,
    ExtractedTriple,
    ExtractedTriples,
)
from recollect.models.language import Prompt
from recollect.text.tokens import count_tokens
from recollect_lab.cost.excerpts import ShownMessage, clip_words, find_iso_day, parse_messages, split_sections

T = TypeVar("T")

TOKENS_OF_A_GIST, TOKENS_OF_A_FACT = 21.9, 20.9
"""Of talk: 15,966 / 730, and 15,966 / 764."""

GIST_WORDS: Final = 12
"""Beside the name and the date in brackets; the time before it is not the model's to write."""

PHRASE_WORDS, PREDICATE_WORDS = 4, 2
"""An object of some 6 tokens; the subject is a name."""


def write_gists(prompt: Prompt) -> ExtractedGists:
    """A gist for every so many tokens of talk, in the words of one message each."""
    said, count = _select_messages(prompt, TOKENS_OF_A_GIST, MOST_GISTS)
    return ExtractedGists(gists=tuple(_write_gist(one, part) for one, part in _spread_evenly(said, count)))


def write_triples(prompt: Prompt) -> ExtractedTriples:
    """A triple for every so many tokens of talk: a speaker, and words of the message."""
    said, count = _select_messages(prompt, TOKENS_OF_A_FACT, MOST_FACTS)
    return ExtractedTriples(facts=tuple(_write_triple(one, part) for one, part in _spread_evenly(said, count)))


def _select_messages(prompt: Prompt, each: float, most: int) -> tuple[tuple[ShownMessage, ...], int]:
    said = parse_messages(split_sections(prompt.text)["messages"])
    talk = count_tokens("\n".join(one.words for one in said))
    return said, min(max(1, round(talk / each)), most)


def _spread_evenly(said: Sequence[T], count: int) -> list[tuple[T, int]]:
    """So many of them, spread evenly, each with how often it was taken before."""
    taken: dict[int, int] = {}
    spread = []
    for n in range(count):
        at = n * len(said) // count
        spread.append((said[at], taken.get(at, 0)))
        taken[at] = taken.get(at, 0) + 1
    return spread


def _write_gist(said: ShownMessage, part: int) -> ExtractedGist:
    day = find_iso_day(said.moment)
    words = _take_part(said, part, GIST_WORDS)
    return ExtractedGist(
        text=f"{said.speaker} said {words} ({said.moment.rpartition(',')[0]}).", start=day, messages=(said.number,)
    )


def _write_triple(said: ShownMessage, part: int) -> ExtractedTriple:
    words = _take_part(said, part, PREDICATE_WORDS + PHRASE_WORDS).split()
    return ExtractedTriple(
        subject=said.speaker,
        predicate=" ".join(["said", *words[: PREDICATE_WORDS - 1]]),
        object=" ".join(words[PREDICATE_WORDS - 1 :]) or "something",
        point_in_time=find_iso_day(said.moment),
        messages=(said.number,),
    )


def _take_part(said: ShownMessage, part: int, most: int) -> str:
    """The ``part``-th run of so many words of a message; its beginning where it is not that long."""
    words = said.words.split()
    run = " ".join(words[part * most : (part + 1) * most])
    return run if any(map(str.isalnum, run)) else clip_words(said.words, most) or "something"
