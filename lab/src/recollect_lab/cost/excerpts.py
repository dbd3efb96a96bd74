"""Read a prompt, and repeat its contents in fewer words. The stub model makes its replies of these words. Pure
functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

from recollect.text.terms import STOP_WORDS, split_words
from recollect.text.time_expressions.words import ENGLISH_MONTHS

T = TypeVar("T")

_SECTION: Final = re.compile(r"^<([a-z_]+)>\n(.*?)\n</\1>$", re.M | re.S)
_ENTRY: Final = re.compile(r"^\[(\d+)\] ", re.M)
_SAID: Final = re.compile(
    r"(?:\(\w+\) )?(?P<speaker>[^,\n]+), (?P<moment>.*?\d{1,2}:\d{2}[^:\n]*): (?P<words>.*)", re.S
)
_EXCHANGE: Final = re.compile(r"(?P<moment>.*?\d{1,2}:\d{2}[^,\n]*), (?P<speaker>[^:\n]+): (?P<words>.*)", re.S)
_DAY: Final = re.compile(r"(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+) (?P<year>\d{4})")
_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEntry:
    """A numbered entry of a prompt."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """A message as a prompt shows it: its number, its speaker, its time, and its words."""

    number: int
    speaker: str
    moment: str
    words: str


def split_sections(text: str) -> Mapping[str, str]:
    """Return the texts between tags, by the names of the tags."""
    return dict(_SECTION.findall(text))


def split_entries(section: str) -> tuple[ShownEntry, ...]:
    """Return the numbered entries of a section, in order. The result is empty if no entry is numbered."""
    _, *parts = _ENTRY.split(section)
    return tuple(
        ShownEntry(number=int(number), text=text.strip()) for number, text in zip(parts[::2], parts[1::2], strict=True)
    )


def parse_messages(section: str) -> tuple[ShownMessage, ...]:
    """Return the messages of a section that is a conversation. An entry is "Ada, Monday, 8 May 2023, 14:10: hello".

    Raises:
        ValueError: an entry is not a message in this form.
    """
    return tuple(_parse_message(_SAID, entry) for entry in split_entries(section))


def parse_exchanges(section: str) -> tuple[ShownMessage, ...]:
    """Return the messages of a section of exchanges. An entry is "Monday, 8 May 2023, 14:10, Ada: hello".

    Raises:
        ValueError: an entry is not an exchange.
    """
    return tuple(_parse_message(_EXCHANGE, entry) for entry in split_entries(section))


def parse_exchange(section: str) -> ShownMessage:
    """Return the message of a section that is one exchange.

    Raises:
        ValueError: the section is not an exchange.
    """
    return _parse_message(_EXCHANGE, ShownEntry(number=1, text=section))


def _parse_message(form: re.Pattern[str], entry: ShownEntry) -> ShownMessage:
    found = form.fullmatch(entry.text)
    if found is None:
        raise ValueError(f"this is not a message: {entry.text[:60]!r}")
    return ShownMessage(number=entry.number, speaker=found["speaker"], moment=found["moment"], words=found["words"])


def find_iso_day(moment: str) -> str | None:
    """Return the day of a moment as an ISO date. The moment is written as in prompts. ``None`` if it has no day."""
    found = _DAY.search(moment)
    if found is None or found["month"] not in ENGLISH_MONTHS:
        return None
    return f"{found['year']}-{ENGLISH_MONTHS.index(found['month']) + 1:02}-{int(found['day']):02}"


def split_evenly(values: Sequence[T], count: int) -> list[Sequence[T]]:
    """Divide values into ``count`` runs of neighbours of nearly equal length. ``count`` is at most the number of
    values.
    """
    cuts = [len(values) * at // count for at in range(count + 1)]
    return [values[start:end] for start, end in pairwise(cuts)]


def clip_words(text: str, most: int) -> str:
    """Return the first ``most`` words of a text."""
    return " ".join(text.split()[:most])


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without blank ones."""
    return [found.strip() for found in _SENTENCE.findall(text) if any(map(str.isalnum, found))]


def find_content_words(text: str) -> frozenset[str]:
    """Return the words of a text that are not stop words, in lower case."""
    return frozenset(split_words(text)) - STOP_WORDS


def compute_share(text: str, others: Collection[str]) -> float:
    """Return the share of a text's content words that are in ``others``. It is 0 if the text has none."""
    own = find_content_words(text)
    return len(own.intersection(others)) / len(own) if own else 0.0
