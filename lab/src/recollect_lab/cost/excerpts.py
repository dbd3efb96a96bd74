"""Reading a prompt, and saying again what it shows in fewer words: what a stub writes its replies from. Pure."""

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
    """A message as a prompt shows it: its number, who said it and when, and the words."""

    number: int
    speaker: str
    moment: str
    words: str


def split_sections(text: str) -> Mapping[str, str]:
    """What stands between tags, by the tags' names."""
    return dict(_SECTION.findall(text))


def split_entries(section: str) -> tuple[ShownEntry, ...]:
    """The numbered entries of a section, in order; nothing where none is numbered."""
    _, *parts = _ENTRY.split(section)
    return tuple(
        ShownEntry(number=int(number), text=text.strip()) for number, text in zip(parts[::2], parts[1::2], strict=True)
    )


def parse_messages(section: str) -> tuple[ShownMessage, ...]:
    """The entries of a section that is a conversation: "Ada, Monday, 8 May 2023, 14:10: hello".

    Raises:
        ValueError: an entry is none of a conversation's.
    """
    return tuple(_parse_message(_SAID, entry) for entry in split_entries(section))


def parse_exchanges(section: str) -> tuple[ShownMessage, ...]:
    """The entries of a section of exchanges: "Monday, 8 May 2023, 14:10, Ada: hello".

    Raises:
        ValueError: an entry is no exchange.
    """
    return tuple(_parse_message(_EXCHANGE, entry) for entry in split_entries(section))


def parse_exchange(section: str) -> ShownMessage:
    """The one exchange that a section is.

    Raises:
        ValueError: it is none.
    """
    return _parse_message(_EXCHANGE, ShownEntry(number=1, text=section))


def _parse_message(form: re.Pattern[str], entry: ShownEntry) -> ShownMessage:
    found = form.fullmatch(entry.text)
    if found is None:
        raise ValueError(f"nothing that somebody said: {entry.text[:60]!r}")
    return ShownMessage(number=entry.number, speaker=found["speaker"], moment=found["moment"], words=found["words"])


def find_iso_day(moment: str) -> str | None:
    """The day of a moment as prompts write it, as an ISO date; ``None`` where there is none."""
    found = _DAY.search(moment)
    if found is None or found["month"] not in ENGLISH_MONTHS:
        return None
    return f"{found['year']}-{ENGLISH_MONTHS.index(found['month']) + 1:02}-{int(found['day']):02}"


def split_evenly(values: Sequence[T], count: int) -> list[Sequence[T]]:
    """Values cut into so many runs of neighbours, as equal as can be; ``count`` is at most their number."""
    cuts = [len(values) * at // count for at in range(count + 1)]
    return [values[start:end] for start, end in pairwise(cuts)]


def clip_words(text: str, most: int) -> str:
    """The first ``most`` words."""
    return " ".join(text.split()[:most])


def split_sentences(text: str) -> list[str]:
    """A text cut where sentences end, blank ones left out."""
    return [found.strip() for found in _SENTENCE.findall(text) if any(map(str.isalnum, found))]


def find_content_words(text: str) -> frozenset[str]:
    """Its words that are no stop words, in lower case."""
    return frozenset(split_words(text)) - STOP_WORDS


def compute_share(text: str, others: Collection[str]) -> float:
    """The share of a text's content words that are among ``others``; 0 where it has none."""
    own = find_content_words(text)
    return len(own.intersection(others)) / len(own) if own else 0.0
