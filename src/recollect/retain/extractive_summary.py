"""Summarize a segment by rule and without a model. The summary says that it is an extract (E-mem, section 3.2).

In the paper, a model summarizes every segment. Until a model has done so, a segment is found by its extract. The
extract has the speakers, the period, the names and the most central sentences, word for word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Final

from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment
from recollect.models.embedder import Embedder
from recollect.retain.embed import text_to_embed
from recollect.retain.segments import cut_words
from recollect.text.names import find_names
from recollect.text.terms import extract_terms
from recollect.text.time_expressions.words import ENGLISH_MONTHS
from recollect.text.tokens import count_all, count_tokens

EXTRACTIVE: Final = "extractive"
OPENING: Final = "Extract (no model read this)"
SUMMARY_TOKENS: Final = 120

_MOST_SPEAKERS: Final = 5
_MOST_NAMES: Final = 8
_LONGEST_NAME: Final = 40
_LONGEST_SENTENCE: Final = 160  # characters
_FEWEST_TERMS: Final = 4
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]?\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence with its speaker's name before it, its terms, and its number of tokens."""

    text: str
    terms: frozenset[int]
    tokens: int


def make_summary_id(number: int) -> str:
    """Return the id of a segment's summary. A better summary has the same id and replaces the earlier one."""
    return f"summary:{number}"


def extract_summary(segment: Segment, messages: Sequence[StoredMessage], known: Container[str]) -> Item:
    """Return a segment's extract. ``messages`` are those of the segment, in order. ``known`` are names from before."""
    return make_summary_item(segment, messages, _extract_text(segment, messages, known), label=EXTRACTIVE)


def make_summary_item(segment: Segment, messages: Sequence[StoredMessage], text: str, *, label: str) -> Item:
    """Return the item of a segment's summary. ``label`` says who made it."""
    return Item(
        id=make_summary_id(segment.number),
        kind=ItemKind.SUMMARY,
        label=label,
        text=text,
        session=messages[0].session,
        speaker="",
        sources=tuple(message.id for message in messages),
        mentioned=messages[-1].at,
        # Not the time of writing: a summary may be made again after forgetting, but its messages were known before.
        recorded=max(message.recorded for message in messages),
        order=segment.number,
        tokens=count_tokens(text),
    )


async def index_summaries(items: Sequence[Item], embedder: Embedder) -> tuple[IndexedItem, ...]:
    """Return summaries with their vectors and terms.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    vectors = await embedder.embed([text_to_embed(item) for item in items])
    return tuple(
        IndexedItem(item=item, vector=vector, terms=extract_terms(item.text))
        for item, vector in zip(items, vectors, strict=True)
    )


def _extract_text(segment: Segment, messages: Sequence[StoredMessage], known: Container[str]) -> str:
    said = [(message, cut_words(segment, message)) for message in messages]
    facts = [_render_speakers(messages), _render_period(messages), ", ".join(_list_names(said, known))]
    about = f"{OPENING}: {'; '.join(filter(None, facts))}."
    chosen = select_central(_split_sentences(said), SUMMARY_TOKENS - count_tokens(about))
    return " ".join([about, *(sentence.text for sentence in chosen)])


def select_central(sentences: Sequence[Sentence], tokens: int) -> list[Sentence]:
    """Return the most central sentences that fit into ``tokens`` tokens, in the order in which they were said.

    The weight of a term is the square root of the number of sentences that contain it. A term counts only once, because
    a second sentence with it says nothing new. The score of a sentence is the weight of its terms, divided by the
    square root of their number. So a long sentence wins if it says more, but not because it is long.
    """
    counts = Counter(term for sentence in sentences for term in sentence.terms)
    weights = {term: sqrt(count) for term, count in counts.items()}
    candidates = {place: s for place, s in enumerate(sentences) if len(s.terms) >= _FEWEST_TERMS}
    chosen: list[int] = []
    while fitting := [place for place, s in candidates.items() if s.tokens <= tokens]:
        scores = {place: _score_sentence(candidates[place], weights) for place in fitting}
        best = max(fitting, key=lambda place: (scores[place], -place))
        if not scores[best]:
            break
        taken = candidates.pop(best)
        tokens -= taken.tokens
        chosen.append(best)
        for term in taken.terms:
            weights[term] = 0.0
    return [sentences[place] for place in sorted(chosen)]


def _score_sentence(sentence: Sentence, weights: Mapping[int, float]) -> float:
    return sum(weights[term] for term in sentence.terms) / sqrt(len(sentence.terms))


def _split_sentences(said: Iterable[tuple[StoredMessage, str]]) -> list[Sentence]:
    parts = [(message.speaker, sentence) for message, words in said for sentence in _split_words(words)]
    texts = [f"{_shorten_name(speaker)}: {sentence}" for speaker, sentence in parts]
    # Speakers' names in the sentences show whom they address, and not what they speak of.
    addressed = frozenset(extract_terms(" ".join({speaker for speaker, _ in parts})).tolist())
    return [
        Sentence(text=text, terms=frozenset(extract_terms(sentence).tolist()) - addressed, tokens=tokens)
        for text, (_, sentence), tokens in zip(texts, parts, count_all(texts), strict=True)
    ]


def _split_words(words: str) -> Iterator[str]:
    """Yield a message's sentences. Long ones are cut."""
    for part in _SENTENCE_END.split(words):
        sentence = " ".join(part.split())
        if len(sentence) > _LONGEST_SENTENCE:
            start = sentence[:_LONGEST_SENTENCE]
            yield f"{start.rpartition(' ')[0] or start} ..."
        elif sentence:
            yield sentence


def _render_speakers(messages: Sequence[StoredMessage]) -> str:
    speakers = [_shorten_name(speaker) for speaker, _ in Counter(m.speaker for m in messages).most_common()]
    others = len(speakers) - _MOST_SPEAKERS
    return ", ".join(speakers[:_MOST_SPEAKERS]) + (f" and {others} more" if others > 0 else "")


def _render_period(messages: Sequence[StoredMessage]) -> str:
    days = list(dict.fromkeys(map(_format_day, sorted(message.at for message in messages))))
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _format_day(at: datetime) -> str:
    return f"{at.day} {ENGLISH_MONTHS[at.month - 1]} {at.year}"


def _list_names(said: Sequence[tuple[StoredMessage, str]], known: Container[str]) -> list[str]:
    """Return the most frequent names, without those of the speakers."""
    speakers = frozenset(message.speaker for message, _ in said)
    themselves = {part for speaker in speakers for part in (speaker.casefold(), *speaker.casefold().split())}
    found = find_names("\n".join(words for _, words in said), speakers, known)
    counts = Counter(name.text for name in found if name.text.casefold() not in themselves)
    return [_shorten_name(name) for name, _ in counts.most_common(_MOST_NAMES)]


def _shorten_name(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME]
