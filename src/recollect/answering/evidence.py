"""What was recalled, as a prompt shows it: numbered, dated, section by section, and fenced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recollect.domain.answers import Citation, Step, cite
from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Query, Tier
from recollect.domain.recalls import Evidence, Recall
from recollect.domain.time import instant_interval
from recollect.ports import Retriever
from recollect.retain.index_items import find_moment
from recollect.store.protocol import StoreReader
from recollect.text.fencing import fence_text
from recollect.text.time_expressions import describe_interval
from recollect.text.time_expressions.words import ENGLISH_WEEKDAYS

RAW_WORDS_EXPLAINED: Final = frozenset({ItemKind.TURN, ItemKind.SEGMENT})
"""Kinds of items that hold what was said, word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionLayout:
    """The sections of a prompt in their order, and in which one an item stands."""

    names: tuple[str, ...]
    section_of: Callable[[Item], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedEvidence:
    """A piece of evidence with its number in the prompt."""

    number: int
    section: str
    evidence: Evidence
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredEvidence:
    """What was recalled; ``entries`` are in the order of their numbers, from 1. ``seconds`` is what it took."""

    recalls: tuple[Recall, ...]
    sections: tuple[str, ...]
    entries: tuple[NumberedEvidence, ...]
    seconds: float

    def get_entry(self, number: int) -> NumberedEvidence:
        """The entry of that number.

        Raises:
            ValueError: there is none; the message is for the model that named it.
        """
        if not 1 <= number <= len(self.entries):
            raise ValueError(f"there is no entry {number}; they are numbered 1 to {len(self.entries)}")
        return self.entries[number - 1]

    def require_entries(self, numbers: Iterable[int]) -> None:
        """Raises ValueError where one of the numbers is no entry's."""
        for number in numbers:
            self.get_entry(number)

    def cite(self, numbers: Iterable[int]) -> tuple[Citation, ...]:
        """Citations of entries, each once."""
        return tuple(cite(self.get_entry(number).evidence) for number in dict.fromkeys(numbers))

    def render(self) -> str:
        """The entries in their sections, fenced: nothing that an entry says can close its section or open another."""
        told = {
            name: [_render_entry(entry) for entry in self.entries if entry.section == name] for name in self.sections
        }
        return "\n\n".join(fence_text(name, "\n".join(lines)) for name, lines in told.items() if lines)

    def describe(self) -> Step:
        """The recall as a step of the answer's trace."""
        counts = {name: sum(entry.section == name for entry in self.entries) for name in self.sections}
        found = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        return Step(action="recall", detail=found or "nothing found", seconds=self.seconds)


async def gather_evidence(
    query: Query, reader: StoreReader, retriever: Retriever, *, tiers: Sequence[Tier], sections: SectionLayout
) -> GatheredEvidence:
    """Recall all tiers with one search, so that none crowds out another.

    Where the query names kinds, or there are no tiers, what the query asks for is recalled as it stands.

    Raises:
        RecallFailed: no evidence could be looked for.
    """
    began = time.perf_counter()
    if not query.scope.kinds:
        query = replace(query, tiers=tuple(tier for tier in tiers if tier.limit))
    recall = await retriever.retrieve(query, reader)
    return GatheredEvidence(
        recalls=(recall,),
        sections=sections.names,
        entries=number_entries(recall.evidence, sections),
        seconds=time.perf_counter() - began,
    )


def number_entries(evidence: Iterable[Evidence], sections: SectionLayout) -> tuple[NumberedEvidence, ...]:
    """Return entries section by section, in each in the order of time, so that what came later is read later.

    Evidence that is no item of the bank has no place in the sections: it is left out.
    """
    placed = [(sections.section_of(one.item), one, one.item) for one in evidence if one.item is not None]
    placed.sort(key=lambda one: (sections.names.index(one[0]), find_moment(one[2]), one[2].id))
    return tuple(
        NumberedEvidence(number=number, section=section, evidence=evidence, item=item)
        for number, (section, evidence, item) in enumerate(placed, start=1)
    )


def render_with_times(item: Item) -> str:
    """An item's text with what is known of its times, its lines indented so that none can pass for another entry."""
    head = "; ".join(_describe_times(item))
    return f"({head}) {indent_lines(item.text)}"


def format_moment(at: datetime) -> str:
    """A moment for a reader, in its own zone: "Monday, 8 May 2023, 14:10"."""
    return f"{ENGLISH_WEEKDAYS[at.weekday()]}, {describe_interval(instant_interval(at))}"


def join_lines(text: str) -> str:
    """The text with every run of blanks and line ends as one blank."""
    return " ".join(text.split())


def indent_lines(text: str) -> str:
    """The text with every line but the first indented."""
    return "\n    ".join(text.splitlines())


def _render_entry(entry: NumberedEvidence) -> str:
    return f"[{entry.number}] {render_with_times(entry.item)}"


def describe_source(at: datetime | None, speaker: str) -> str:
    """When something was said and by whom, as far as that is known: "said Monday, 8 May 2023, 14:10 by Ada"."""
    when = "" if at is None else f" {format_moment(at)}"
    by = f" by {join_lines(speaker)}" if speaker else ""
    return f"said{when}{by}" if when or by else ""


def _describe_times(item: Item) -> list[str]:
    if item.kind in RAW_WORDS_EXPLAINED:
        meant = [f'"{join_lines(one.words)}" is {describe_interval(one.interval)}' for one in item.occurrences]
        return [describe_source(item.mentioned, item.speaker), *meant]
    if item.kind is ItemKind.OPINION:
        return [f"confidence {item.confidence or 0.0:.2f}", f"since {format_moment(item.mentioned)}"]
    told = dict.fromkeys(describe_interval(one.interval) for one in item.occurrences)
    return [*(f"time {when}" for when in told), describe_source(item.mentioned, "")]
