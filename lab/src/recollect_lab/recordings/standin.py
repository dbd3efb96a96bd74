"""The kept reply that comes nearest where the exact request was never recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect_lab.recordings.entry import Asked, Body, Entry, Json

_WORD = re.compile(r"\w+")


def stand_in(entries: Iterable[Entry], asked: Asked, body: Body) -> Entry | None:
    """The reply recorded for the same role, operation and subject, ``None`` where there is none.

    Of several (a subject asked about again, or shown its mistake) the one that was asked in a conversation of the same
    length, in words most like these. What has no tags has no place, and nothing stands in for it.
    """
    if not all(asked.place):
        return None
    messages, words = _messages(body), _words(body)

    def unlike(entry: Entry) -> tuple[int, float, str]:
        length = abs(len(_messages(entry.request)) - len(messages))
        return length, -_likeness(words, _words(entry.request)), entry.asked.key

    return min((entry for entry in entries if entry.asked.place == asked.place), key=unlike, default=None)


def _messages(body: Body) -> Sequence[Json]:
    messages = body.get("messages")
    return messages if isinstance(messages, list) else ()


def _words(body: Body) -> frozenset[str]:
    return frozenset(word for text in _texts(_messages(body)) for word in _WORD.findall(text.lower()))


def _texts(value: Json) -> Iterable[str]:
    """Every text within, however deep: contents may be text, or parts with text in them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for cell in value.values():
            yield from _texts(cell)
    elif isinstance(value, list | tuple):
        for cell in value:
            yield from _texts(cell)


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words they have in common, 0 to 1."""
    return len(one & other) / max(len(one | other), 1)
