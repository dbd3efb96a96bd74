"""Stub replies for REMem: gists and facts in the numbers and lengths that the paper reports for LoCoMo (table 22).

There, 15,966 tokens of talk became 730 gists of 29.8 tokens, including the time before each, and 764 triples over 778
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
"""The tokens of talk for each gist (15,966 / 730) and for each fact (15,966 / 764)."""

GIST_WORDS: Final = 12
"""The words of a gist, without the name and the date in brackets. The model does not write the time before a gist."""

PHRASE_WORDS, PREDICATE_WORDS = 4, 2
"""The words of an object, about 6 tokens, and of a predicate. The subject is a name."""


def write_gists(prompt: Prompt) -> ExtractedGists:
    """Return a gist for every ``TOKENS_OF_A_GIST`` tokens of talk, each in the words of one message."""
    said, count = _select_messages(prompt, TOKENS_OF_A_GIST, MOST_GISTS)
    return ExtractedGists(gists=tuple(_write_gist(one, part) for one, part in _spread_evenly(said, count)))


def write_triples(prompt: Prompt) -> ExtractedTriples:
    """Return a triple for every ``TOKENS_OF_A_FACT`` tokens of talk: a speaker, and words of the message."""
    said, count = _select_messages(prompt, TOKENS_OF_A_FACT, MOST_FACTS)
    return ExtractedTriples(facts=tuple(_write_triple(one, part) for one, part in _spread_evenly(said, count)))


def _select_messages(prompt: Prompt, each: float, most: int) -> tuple[tuple[ShownMessage, ...], int]:
    said = parse_messages(split_sections(prompt.text)["messages"])
    talk = count_tokens("\n".join(one.words for one in said))
    return said, min(max(1, round(talk / each)), most)


def _spread_evenly(said: Sequence[T], count: int) -> list[tuple[T, int]]:
    """Return ``count`` of the messages, evenly spread. Each comes with the number of times that it was taken before."""
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
    """Return the ``part``-th run of ``most`` words of a message. If the message is too short, return its first
    words.
    """
    words = said.words.split()
    run = " ".join(words[part * most : (part + 1) * most])
    return run if any(map(str.isalnum, run)) else clip_words(said.words, most) or "something"
