"""What was recalled, as a prompt shows it: numbered, dated, and what is known apart from what is believed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Final

from recollect.domain.answers import Citation, Step
from recollect.domain.items import Item, ItemKind, Network
from recollect.domain.queries import Query
from recollect.domain.recalls import Evidence, Recall
from recollect.domain.time import at_instant
from recollect.ports import Retriever
from recollect.retain.weave import moment_of
from recollect.store.protocol import StoreReader
from recollect.text.fence import fenced
from recollect.text.when import describe
from recollect.text.when.words import ENGLISH_WEEKDAYS


class Section(Enum):
    """Where an entry stands in a prompt: the four networks (section 3.1), notes of other methods, and raw words."""

    WORLD = "world_facts"
    EXPERIENCE = "experience_facts"
    OBSERVATIONS = "observations"
    NOTES = "notes"
    OPINIONS = "opinions"
    WORDS = "raw_words"


SECTIONS_EXPLAINED: Final = """What memory holds stands in these sections; cite an entry by its number:
- world_facts: what is known of people and things.
- experience_facts: what is known of what you did yourself.
- observations: neutral summaries of what is known of somebody or something.
- notes: other summaries of what was said.
- opinions: what you believe, with how firmly (1 is certain). A belief is no fact.
- raw_words: what somebody said, word for word; who said it may be wrong.
A section without entries is left out. An entry says which time it tells of, past or planned, and when it was said, as \
far as that is known. Where two entries contradict each other, the one that was said later holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What part of the tokens each network may take, 0 to 1."""

    facts: float
    observations: float
    opinions: float
    turns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """What is shown of each network, so that none crowds out another: facts up to the query's limit.

    A summary or a belief is as like the question as the facts it rests on, and says less. ``shares`` are of the
    query's tokens; they add up to 1.
    """

    observations: int = 5
    opinions: int = 3
    turns: int = 8
    shares: Shares = field(default_factory=lambda: Shares(facts=0.6, observations=0.13, opinions=0.07, turns=0.2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A piece of evidence with its number in the prompt."""

    number: int
    section: Section
    evidence: Evidence
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was recalled; ``entries`` are in the order of their numbers, from 1. ``seconds`` is what it took."""

    recalls: tuple[Recall, ...]
    entries: tuple[Entry, ...]
    seconds: float

    def entry(self, number: int) -> Entry:
        """The entry of that number.

        Raises:
            ValueError: there is none; the message is for the model that named it.
        """
        if not 1 <= number <= len(self.entries):
            raise ValueError(f"there is no entry {number}; they are numbered 1 to {len(self.entries)}")
        return self.entries[number - 1]

    def require(self, numbers: Iterable[int]) -> None:
        """Raises ValueError where one of the numbers is no entry's."""
        for number in numbers:
            self.entry(number)

    def cited(self, numbers: Iterable[int]) -> tuple[Citation, ...]:
        """Citations of entries, each once."""
        cited = [self.entry(number).evidence for number in dict.fromkeys(numbers)]
        return tuple(Citation(id=one.id, kind=one.kind, text=one.text, sources=one.sources) for one in cited)

    def shown(self) -> str:
        """The entries in their sections, fenced: nothing that an entry says can close its section or open another."""
        sections = {
            section: "\n".join(_shown(entry) for entry in self.entries if entry.section is section)
            for section in Section
        }
        return "\n\n".join(fenced(section.value, text) for section, text in sections.items() if text)

    def told(self) -> Step:
        """The recall as a step of the answer's trace."""
        counts = {section.value: sum(entry.section is section for entry in self.entries) for section in Section}
        found = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        return Step(action="recall", detail=found or "nothing found", seconds=self.seconds)


async def gather(query: Query, reader: StoreReader, retriever: Retriever, settings: EvidenceSettings) -> Gathered:
    """Recall from the four networks, and a few of the raw words.

    Where the query names kinds, those alone are looked for; where the bank has no facts yet, everything is.

    Raises:
        RecallFailed: no evidence could be looked for.
    """
    began = time.perf_counter()
    facts = await reader.items_of([ItemKind.FACT], limit=1)
    queries = _parted(query, settings) if facts and not query.scope.kinds else (query,)
    recalls = await asyncio.gather(*(retriever.retrieve(one, reader) for one in queries))
    found = {evidence.id: evidence for recall in recalls for evidence in recall.evidence}
    items = await reader.items(found)
    entries = numbered([(found[item.id], item) for item in items])
    return Gathered(recalls=tuple(recalls), entries=entries, seconds=time.perf_counter() - began)


def _parted(query: Query, settings: EvidenceSettings) -> tuple[Query, ...]:
    """A query for each network and one for raw words; their budgets add up to no more than the query's."""
    shares = settings.shares
    parts = (
        (ItemKind.FACT, query.limit, shares.facts),
        (ItemKind.OBSERVATION, settings.observations, shares.observations),
        (ItemKind.OPINION, settings.opinions, shares.opinions),
        (ItemKind.TURN, settings.turns, shares.turns),
    )
    return tuple(
        replace(
            query,
            scope=replace(query.scope, kinds=(kind,)),
            limit=limit,
            max_tokens=None if query.max_tokens is None else max(1, int(query.max_tokens * share)),
        )
        for kind, limit, share in parts
        if limit
    )


def numbered(found: Sequence[tuple[Evidence, Item]]) -> tuple[Entry, ...]:
    """Entries section by section, in each in the order of time, so that what came later is read later."""
    placed = [(section_of(item), evidence, item) for evidence, item in found]
    order = list(Section)
    placed.sort(key=lambda one: (order.index(one[0]), moment_of(one[2]), one[2].id))
    return tuple(
        Entry(number=number, section=section, evidence=evidence, item=item)
        for number, (section, evidence, item) in enumerate(placed, start=1)
    )


def section_of(item: Item) -> Section:
    """Where an item stands."""
    match item.kind:
        case ItemKind.FACT:
            return Section.EXPERIENCE if item.network is Network.EXPERIENCE else Section.WORLD
        case ItemKind.OBSERVATION:
            return Section.OBSERVATIONS
        case ItemKind.OPINION:
            return Section.OPINIONS
        case ItemKind.TURN | ItemKind.SEGMENT:
            return Section.WORDS
        case _:
            return Section.NOTES


def dated(item: Item) -> str:
    """An item's text with what is known of its times, its lines indented so that none can pass for another entry."""
    head = "; ".join(_times_of(item))
    return f"({head}) {indented(item.text)}"


def weekday_and_time(at: datetime) -> str:
    """A moment for a reader, in its own zone: "Monday, 8 May 2023, 14:10"."""
    return f"{ENGLISH_WEEKDAYS[at.weekday()]}, {describe(at_instant(at))}"


def one_line(text: str) -> str:
    """The text with every run of blanks and line ends as one blank."""
    return " ".join(text.split())


def indented(text: str) -> str:
    """The text with every line but the first indented."""
    return "\n    ".join(text.splitlines())


def _shown(entry: Entry) -> str:
    return f"[{entry.number}] {dated(entry.item)}"


def _times_of(item: Item) -> list[str]:
    said = weekday_and_time(item.mentioned)
    match section_of(item):
        case Section.WORDS:
            meant = [f'"{one_line(one.words)}" is {describe(one.interval)}' for one in item.occurrences]
            return [f"said {said} by {one_line(item.speaker)}", *meant]
        case Section.OPINIONS:
            return [f"confidence {item.confidence or 0.0:.2f}", f"since {said}"]
        case _:
            told = dict.fromkeys(describe(one.interval) for one in item.occurrences)
            return [*(f"time {when}" for when in told), f"said {said}"]
