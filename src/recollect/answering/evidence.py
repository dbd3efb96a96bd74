"""Show recalled evidence in a prompt: numbered, dated, in sections, and fenced."""

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
"""The kinds of items that contain the words of messages verbatim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionLayout:
    """The sections of a prompt. ``names`` are in their order, and ``of`` returns the section of an item."""

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
    """The recalled evidence. ``entries`` are in the order of their numbers, from 1. ``seconds`` is the time of the
    recall.
    """

    recalls: tuple[Recall, ...]
    sections: tuple[str, ...]
    entries: tuple[NumberedEvidence, ...]
    seconds: float

    def get_entry(self, number: int) -> NumberedEvidence:
        """Return the entry with a number.

        Raises:
            ValueError: there is no such entry. The message is sent to the model that named the number.
        """
        if not 1 <= number <= len(self.entries):
            raise ValueError(f"there is no entry {number}; they are numbered 1 to {len(self.entries)}")
        return self.entries[number - 1]

    def require_entries(self, numbers: Iterable[int]) -> None:
        """Raise ValueError if one of the numbers belongs to no entry."""
        for number in numbers:
            self.get_entry(number)

    def cite(self, numbers: Iterable[int]) -> tuple[Citation, ...]:
        """Return the citations of the entries with these numbers, each once."""
        return tuple(cite(self.get_entry(number).evidence) for number in dict.fromkeys(numbers))

    def render(self) -> str:
        """Return the entries in their sections, fenced. The text of an entry cannot close its section or open
        another.
        """
        told = {
            name: [_render_entry(entry) for entry in self.entries if entry.section == name] for name in self.sections
        }
        return "\n\n".join(fence_text(name, "\n".join(lines)) for name, lines in told.items() if lines)

    def describe(self) -> Step:
        """Return the recall as a step of the answer's trace."""
        counts = {name: sum(entry.section == name for entry in self.entries) for name in self.sections}
        found = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        return Step(action="recall", detail=found or "nothing found", seconds=self.seconds)


async def gather_evidence(
    query: Query, reader: StoreReader, retriever: Retriever, *, tiers: Sequence[Tier], sections: SectionLayout
) -> GatheredEvidence:
    """Recall all tiers with one search, so that no tier displaces another.

    If the query names kinds, or if there are no tiers, the query is used unchanged.

    Raises:
        RecallFailed: no evidence could be searched.
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
    """Return numbered entries, section by section. Within a section they are in order of time, so that later ones come
    later.

    Evidence without an item of the bank has no section. It is left out.
    """
    placed = [(sections.section_of(one.item), one, one.item) for one in evidence if one.item is not None]
    placed.sort(key=lambda one: (sections.names.index(one[0]), find_moment(one[2]), one[2].id))
    return tuple(
        NumberedEvidence(number=number, section=section, evidence=evidence, item=item)
        for number, (section, evidence, item) in enumerate(placed, start=1)
    )


def render_with_times(item: Item) -> str:
    """Return an item's text with its known times. Its lines are indented, so that no line looks like another entry."""
    head = "; ".join(_describe_times(item))
    return f"({head}) {indent_lines(item.text)}"


def format_moment(at: datetime) -> str:
    """Return a moment in words, in its own zone: "Monday, 8 May 2023, 14:10"."""
    return f"{ENGLISH_WEEKDAYS[at.weekday()]}, {describe_interval(instant_interval(at))}"


def join_lines(text: str) -> str:
    """Return the text with each run of whitespace as one blank."""
    return " ".join(text.split())


def indent_lines(text: str) -> str:
    """Return the text with every line indented, except the first."""
    return "\n    ".join(text.splitlines())


def _render_entry(entry: NumberedEvidence) -> str:
    return f"[{entry.number}] {render_with_times(entry.item)}"


def describe_source(at: datetime | None, speaker: str) -> str:
    """Return when and by whom something was said, as far as it is known: "said Monday, 8 May 2023, 14:10 by Ada"."""
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
