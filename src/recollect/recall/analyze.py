"""Analyse a question: the people, the time and the words that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.queries import Query, SearchProbe
from recollect.domain.time import Interval
from recollect.models.embedder import Embedder
from recollect.recall.named_speakers import remove_speakers
from recollect.text.terms import extract_terms
from recollect.text.time_expressions import find_question_time

_ASKS_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|\bhow (?:many|much) (?:days|weeks|months|years|time)\b"
    r"|\b(?:what|which) (?:date|day|week|month|year|time|season)\b",
    re.IGNORECASE,
)
# Straight quotes are paired in their order, except the inches of 6". Text between two quotations is not quoted.
_OPENING = re.compile(r"(?<!\d)\"|[“„«]")
_CLOSING = {'"': re.compile('"'), "“": re.compile("[“”]"), "„": re.compile("[“”]"), "«": re.compile("»")}
_INLINE_CHARACTERS, _INLINE_SPEAKERS = 2_000, 500  # what is read in a millisecond or two
_SHORTEST_PHRASE, _LONGEST_PHRASE = 3, 200
_MOST_PHRASES, _MOST_TERMS = 32, 1_000  # a longer question is a document: its beginning tells what it is about


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
    named, topic = remove_speakers(speakers, query.text)
    return ParsedQuestion(
        topic=topic if extract_terms(topic).size else query.text,
        speakers=named,
        phrases=_find_phrases(query.text),
        during=find_question_time(query.text, query.now),
        asks_when=bool(_ASKS_WHEN.search(query.text)),
    )


async def read_question(query: Query, speakers: Sequence[str]) -> ParsedQuestion:
    """Return what :func:`parse_question` returns. A long question, or one to very many speakers, is read in a thread.

    So it never holds up the event loop.
    """
    if len(query.text) <= _INLINE_CHARACTERS and len(speakers) <= _INLINE_SPEAKERS:
        return parse_question(query, speakers)
    return await run_in_thread(parse_question, query, speakers)


async def build_probe(question: ParsedQuestion, embedder: Embedder) -> SearchProbe:
    """Return the question in the form that the arms use.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    vectors = await embedder.embed([question.topic], purpose="query")
    if len(question.topic) <= _INLINE_CHARACTERS:
        return make_probe(question, vectors[0])
    return await run_in_thread(make_probe, question, vectors[0])


def make_probe(question: ParsedQuestion, vector: NDArray[np.float32]) -> SearchProbe:
    """Return the question with a vector, float32 ``(dimension,)``. A vector of zeros finds nothing by meaning."""
    return SearchProbe(
        topic=question.topic,
        vector=vector,
        terms=_find_distinct_terms(question.topic),
        speakers=question.speakers,
        phrases=question.phrases,
        during=question.during,
        asks_when=question.asks_when,
    )


def _find_distinct_terms(text: str) -> NDArray[np.uint32]:
    """Return the first distinct terms of a text, sorted. Each is looked up, so their number has a bound."""
    terms, first = np.unique(extract_terms(text), return_index=True)
    return terms if len(terms) <= _MOST_TERMS else np.sort(terms[np.argsort(first)[:_MOST_TERMS]])


def _find_phrases(text: str) -> tuple[str, ...]:
    """Return the first quoted phrases. Each is one more condition for the index, so their number has a bound."""
    quoted = (phrase.strip() for phrase in _split_quotes(text) if _SHORTEST_PHRASE <= len(phrase) <= _LONGEST_PHRASE)
    return tuple(islice(quoted, _MOST_PHRASES))


def _split_quotes(text: str) -> Iterator[str]:
    """Yield the text of each quotation. A quote that is never closed is looked for only once, so the time is linear."""
    unclosed: set[str] = set()
    at = 0
    while opening := _OPENING.search(text, at):
        at = opening.end()
        if opening[0] in unclosed:
            continue
        closing = _CLOSING[opening[0]].search(text, at)
        if closing is None:
            unclosed.add(opening[0])
        else:
            yield text[at : closing.start()]
            at = closing.end()
