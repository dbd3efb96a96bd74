"""Find the nearest recorded reply if the exact request was never recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect_lab.recordings.recorded_reply import Body, Json, RecordedReply, RequestKey

_WORD = re.compile(r"\w+")


def find_stand_in(entries: Iterable[RecordedReply], asked: RequestKey, body: Body) -> RecordedReply | None:
    """Return a reply that was recorded for the same role, operation and subject. ``None`` if there is none.

    There are several if a subject was asked about again, or if a model was shown its mistake. Then the reply to the
    request with the nearest number of messages is chosen, and among those the one with the most similar words. A
    request without tags has no place, so no other reply can stand in.
    """
    if not all(asked.purpose):
        return None
    messages, words = _list_messages(body), _collect_words(body)

    def unlike(entry: RecordedReply) -> tuple[int, float, str]:
        length = abs(len(_list_messages(entry.request)) - len(messages))
        return length, -_compute_overlap(words, _collect_words(entry.request)), entry.asked.key

    return min((entry for entry in entries if entry.asked.purpose == asked.purpose), key=unlike, default=None)


def _list_messages(body: Body) -> Sequence[Json]:
    messages = body.get("messages")
    return messages if isinstance(messages, list) else ()


def _collect_words(body: Body) -> frozenset[str]:
    return frozenset(word for text in _list_texts(_list_messages(body)) for word in _WORD.findall(text.lower()))


def _list_texts(value: Json) -> Iterable[str]:
    """Yield every text inside a value at any depth. A message may have a text, or parts with texts in them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for cell in value.values():
            yield from _list_texts(cell)
    elif isinstance(value, list | tuple):
        for cell in value:
            yield from _list_texts(cell)


def _compute_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that both have, from 0 to 1."""
    return len(one & other) / max(len(one | other), 1)
