"""Analyse a question: the people, the time and the words that it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.domain.queries import Query, SearchProbe
from recollect.domain.time import Interval
from recollect.models.embedder import Embedder
from recollect.text.terms import extract_terms
from recollect.text.time_expressions import find_question_time

_GENERIC = frozenset({"user", "assistant", "system", "tool", "human", "ai"})
_ASKS_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|\bhow (?:many|much) (?:days|weeks|months|years|time)\b"
    r"|\b(?:what|which) (?:date|day|week|month|year|time|season)\b",
    re.IGNORECASE,
)
# Straight quotes are paired in their order, except the inches of 6". Text between two quotations is not quoted.
_QUOTED = re.compile(r"(?<!\d)\"([^\"]*)\"|[“„]([^“”]*)[“”]|«([^»]*)»")
_SHORTEST_PHRASE, _LONGEST_PHRASE = 3, 200
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuestion:
    """A question, read without a model. ``topic`` is its text without the speakers that it names."""

    topic: str
    speakers: tuple[str, ...]
    phrases: tuple[str, ...]
    during: Interval | None
    asks_when: bool


def parse_question(query: Query, speakers: Sequence[str]) -> ParsedQuestion:
    """Read a question, with the speakers of a bank.

    The speaker of a message tells whom the message is about. A name in the words of a message tells little about this,
    because people seldom name themselves. It usually names the person who is addressed. So speakers' names are taken
    out of the search text and are weighted separately.
    """
    named, topic = _remove_speakers(speakers, query.text)
    return ParsedQuestion(
        topic=topic if extract_terms(topic).size else query.text,
        speakers=named,
        phrases=_find_phrases(query.text),
        during=find_question_time(query.text, query.now),
        asks_when=bool(_ASKS_WHEN.search(query.text)),
    )


async def build_probe(question: ParsedQuestion, embedder: Embedder) -> SearchProbe:
    """Return the question in the form that the arms use.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    vectors = await embedder.embed([question.topic], purpose="query")
    return make_probe(question, vectors[0])


def make_probe(question: ParsedQuestion, vector: NDArray[np.float32]) -> SearchProbe:
    """Return the question with a vector, float32 ``(dimension,)``. A vector of zeros finds nothing by meaning."""
    return SearchProbe(
        topic=question.topic,
        vector=vector,
        terms=np.unique(extract_terms(question.topic)),
        speakers=question.speakers,
        phrases=question.phrases,
        during=question.during,
        asks_when=question.asks_when,
    )


def _remove_speakers(speakers: Sequence[str], text: str) -> tuple[tuple[str, ...], str]:
    """Return the speakers that a text names, and the text without them.

    If one name contains another, the longer one counts. A name within a compound ("Mary-Ann") belongs to somebody else.
    """
    names = {
        name.strip() for name in speakers if name.strip().casefold() not in _GENERIC and any(map(str.isalnum, name))
    }
    if not names:
        return (), _BLANKS.sub(" ", text).strip()
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    pattern = re.compile(rf"(?<!\w)(?<!\w[-‐‑])({longest_first})(?:['’]s)?(?![-‐‑]?\w)", re.IGNORECASE)
    found = {match[1].casefold() for match in pattern.finditer(text)}
    named = tuple(name for name in speakers if name.strip().casefold() in found)
    return named, _BLANKS.sub(" ", pattern.sub(" ", text)).strip()


def _find_phrases(text: str) -> tuple[str, ...]:
    quoted = ("".join(groups) for groups in _QUOTED.findall(text))
    return tuple(phrase.strip() for phrase in quoted if _SHORTEST_PHRASE <= len(phrase) <= _LONGEST_PHRASE)
