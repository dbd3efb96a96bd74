"""What a segment is about, by rule and without a model: an extract, which says that it is one (E-mem, section 3.2).

The paper has a model summarise every segment. Where there is none, or until it has come to that, a segment is found by
its speakers, its period, the names in it and its most central sentences, word for word.
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
    """A sentence under its speaker's name, its terms, and what it costs in tokens."""

    text: str
    terms: frozenset[int]
    tokens: int


def make_summary_id(number: int) -> str:
    """The id of a segment's summary: a better one takes the place of an earlier one."""
    return f"summary:{number}"


def extract_summary(segment: Segment, messages: Sequence[StoredMessage], known: Container[str]) -> Item:
    """A segment's extract. ``messages`` are those of the segment, in order; ``known`` are names met before."""
    return make_summary_item(segment, messages, _extract_text(segment, messages, known), label=EXTRACTIVE)


def make_summary_item(segment: Segment, messages: Sequence[StoredMessage], text: str, *, label: str) -> Item:
    """The item that a segment's summary is kept as; ``label`` says who made it."""
    return Item(
        id=make_summary_id(segment.number),
        kind=ItemKind.SUMMARY,
        label=label,
        text=text,
        session=messages[0].session,
        speaker="",
        sources=tuple(message.id for message in messages),
        mentioned=messages[-1].at,
        # Not the moment of writing: what is made anew after forgetting was known as long as its messages.
        recorded=max(message.recorded for message in messages),
        order=segment.number,
        tokens=count_tokens(text),
    )


async def index_summaries(items: Sequence[Item], embedder: Embedder) -> tuple[IndexedItem, ...]:
    """Summaries with what they are found by.

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
    """The sentences that say most of what is said often, in so many tokens, in the order in which they were said.

    A term weighs the root of how many sentences it is in, and counts once: what one sentence has said is nothing new in
    another. Sentences are compared by the weight of their terms over the root of their number, so that a long one wins
    by saying more, but not by its length alone.
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
    # That they address each other says nothing of what they speak of.
    addressed = frozenset(extract_terms(" ".join({speaker for speaker, _ in parts})).tolist())
    return [
        Sentence(text=text, terms=frozenset(extract_terms(sentence).tolist()) - addressed, tokens=tokens)
        for text, (_, sentence), tokens in zip(texts, parts, count_all(texts), strict=True)
    ]


def _split_words(words: str) -> Iterator[str]:
    """A message's sentences, long ones cut short."""
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
    """Who and what is spoken of most, but for the speakers."""
    speakers = frozenset(message.speaker for message, _ in said)
    themselves = {part for speaker in speakers for part in (speaker.casefold(), *speaker.casefold().split())}
    found = find_names("\n".join(words for _, words in said), speakers, known)
    counts = Counter(name.text for name in found if name.text.casefold() not in themselves)
    return [_shorten_name(name) for name, _ in counts.most_common(_MOST_NAMES)]


def _shorten_name(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME]
