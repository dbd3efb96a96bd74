"""The kept reply that comes nearest where the exact request was never recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect_lab.recordings.recorded_reply import Body, Json, RecordedReply, RequestKey

_WORD = re.compile(r"\w+")


def find_stand_in(entries: Iterable[RecordedReply], asked: RequestKey, body: Body) -> RecordedReply | None:
    """The reply recorded for the same role, operation and subject, ``None`` where there is none.

    Of several (a subject asked about again, or shown its mistake) the one that was asked in a conversation of the same
    length, in words most like these. What has no tags has no place, and nothing stands in for it.
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
    """Every text within, however deep: contents may be text, or parts with text in them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for cell in value.values():
            yield from _list_texts(cell)
    elif isinstance(value, list | tuple):
        for cell in value:
            yield from _list_texts(cell)


def _compute_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words they have in common, 0 to 1."""
    return len(one & other) / max(len(one | other), 1)
