"""Refine semantically (RecMem, section 3.4): find facts that an episode leaves out, and old facts they replace."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.answering.evidence import indent_lines, render_with_times
from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.methods.recmem.units import Unit, number_units
from recollect.models.language import ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text
from recollect.text.terms import STOP_WORDS, split_words
from recollect.text.time_expressions import describe_interval
from recollect.text.time_expressions.iso import parse_iso_span, parse_iso_span_checked

REFINE: Final = "recmem.refine"
MOST_FACTS: Final = 9
"""The maximal number of facts for an episode: fewer than ten (appendix F)."""

FactType = Literal["event", "preference", "update", "relation"]

_FACTS_BETWEEN: Final = 1000  # places in a session's order between two messages: more than the facts of a cluster
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedSemanticFact:
    """A single fact of one of four types.

    ``exchanges`` are the numbers of the exchanges that it comes from. ``start`` and ``end`` are ISO dates. ``replaces``
    are the numbers of known facts that are no longer valid. Only an update replaces facts.
    """

    __pydantic_config__: ClassVar = {"title": "Refined"}  # its name in requests to a model, recorded ones too

    text: str
    type: FactType
    exchanges: tuple[int, ...]
    start: str | None = None
    end: str | None = None
    replaces: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not any(map(str.isalnum, self.text)):
            raise ValueError("a fact is empty")
        if not self.exchanges:
            raise ValueError(f"the fact {self.text[:60]!r} names no exchange that it comes from")
        if self.replaces and self.type != "update":
            raise ValueError(f"the fact {self.text[:60]!r} replaces others, so it is of type update")
        try:
            parse_iso_span(self.start, self.end, UTC)
        except ValueError as exc:
            raise ValueError(f"the fact {self.text[:60]!r}: {exc}") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsReply:
    """The facts that an episode leaves out. There are none if the episode says everything."""

    __pydantic_config__: ClassVar = {"title": "Facts"}  # its name in requests to a model, recorded ones too

    facts: tuple[ExtractedSemanticFact, ...]

    def __post_init__(self) -> None:
        if len(self.facts) > MOST_FACTS:
            raise ValueError(f"{len(self.facts)} facts are too many; keep the {MOST_FACTS} most useful")


def check_facts(reply: FactsReply, exchanges: int, known: int) -> None:
    """Raise ValueError if a reply does not fit the exchanges and the known facts that were shown.

    Raises:
        ValueError: a number belongs to no exchange or to no known fact.
    """
    for fact in reply.facts:
        for number in fact.exchanges:
            if not 1 <= number <= exchanges:
                raise ValueError(f"there is no exchange {number}; they are numbered 1 to {exchanges}")
        for number in fact.replaces:
            if not 1 <= number <= known:
                raise ValueError(f"there is no known fact {number} to replace; there are {known}")


_SYSTEM: Final = f"""You complete a long-term memory with single facts. You are shown exchanges, the episode that was \
written from them, and facts that are known already.

Write down what a later question about these people could ask for and what the episode leaves out or blurs: exact \
names, numbers, titles, places, dates, reasons, likes and dislikes. At most {MOST_FACTS} facts, and rather few good \
ones; none where nothing is missing. Nothing that a known fact says already, in whatever words. No common knowledge, \
no advice that is for anybody, no guesses.

text: one sentence that can be understood by itself, with names instead of pronouns. Reckon words like "yesterday" or \
"next week" from the date of the exchange, which is when it was said, and write the date they mean. What an exchange \
answers follows it in brackets, for understanding it.
type:
- event: something that somebody did, went through, began, ended or decided, with its date.
- preference: a like, dislike, habit, aim or constraint that lasts.
- update: something has changed: what holds now, what held before, and since when.
- relation: how people, places, groups or things that have names belong together.
exchanges: the numbers of the exchanges that it comes from.
start, end: when it happened or holds, as ISO dates no finer than known (2023, 2023-07, 2023-07-09); start alone for a \
single day, month or year. Null where no time is known: the date of an exchange by itself is none.
replaces: the numbers of known facts that are no longer true because of an update; else empty.

{DATA_RULE}"""


def build_refine_prompt(episode: Item, units: Sequence[Unit], known: Sequence[Item], characters: int) -> Prompt:
    """Return the prompt with an episode, its exchanges and the facts nearest to it (equations 8 and 9)."""
    parts = [
        fence_text("exchanges", number_units(units, characters)),
        fence_text("episode", indent_lines(episode.text)),
    ]
    if known:
        lines = (f"[{number}] {render_with_times(fact)}" for number, fact in enumerate(known, start=1))
        parts.append(fence_text("known_facts", "\n".join(lines)))
    return Prompt(
        role=ModelRole.CONSOLIDATE, operation=REFINE, subject=episode.id, system=_SYSTEM, text="\n\n".join(parts)
    )


def make_facts(
    reply: FactsReply, episode: Item, units: Sequence[Unit], known: Sequence[Item], *, first: int, now: datetime
) -> list[tuple[Item, tuple[str, ...]]]:
    """Return the items of a reply, each with the ids of the known facts that it replaces.

    Args:
        reply: the reply. It has passed :func:`check_facts`.
        episode: the episode that was refined.
        units: the exchanges that were shown.
        known: the facts that were shown.
        first: the number of facts that the cluster has already.
        now: the time at which the items are stored.
    """
    chain = episode.session.partition(":")[2]
    seen = _content_words(f"{episode.text}\n{number_units(units, sys.maxsize)}")
    items = []
    for n, fact in enumerate(reply.facts, start=first):
        of = [units[number - 1] for number in dict.fromkeys(fact.exchanges)]
        replaced = tuple(known[number - 1].id for number in dict.fromkeys(fact.replaces))
        span = parse_iso_span_checked(fact.start, fact.end, of[0].messages[0].at.tzinfo)
        item = Item(
            id=f"semantic:{chain}:{n}",
            kind=ItemKind.SEMANTIC,
            text=fact.text.strip(),
            session=of[0].item.session,
            speaker=of[0].item.speaker,
            sources=tuple(dict.fromkeys(source for unit in of for source in unit.item.sources)),
            mentioned=max(message.at for unit in of for message in unit.messages),
            recorded=now,
            order=of[0].messages[0].position * _FACTS_BETWEEN + n,
            occurrences=() if span is None else (Occurrence(words=describe_interval(span), interval=span),),
            # A fact contains words of facts that it replaces or repeats. If they are forgotten, it must go too.
            derived_from=(episode.id, *replaced, *_find_sources(fact.text, seen, known, replaced)),
            label=fact.type,
        )
        items.append((item, replaced))
    return items


def _find_sources(text: str, seen: Set[str], known: Sequence[Item], replaced: Sequence[str]) -> Iterator[str]:
    """Yield the ids of known facts from which a new fact has words that a model saw nowhere else.

    Facts in ``replaced`` are left out. Each such word yields one fact. While that fact is stored, the word does not
    come from anything forgotten.
    """
    taken = _content_words(text) - seen
    for fact in sorted(known, key=lambda fact: fact.id not in replaced):
        lent = taken & _content_words(fact.text)
        taken -= lent
        if lent and fact.id not in replaced:
            yield fact.id


def _content_words(text: str) -> frozenset[str]:
    return frozenset(split_words(text)) - STOP_WORDS


def is_known(
    text: str, vector: NDArray[np.float32], known: Sequence[tuple[str, NDArray[np.float32]]], same: float
) -> bool:
    """Return true if one of the known facts says the same: in the same words, or in similar ones with the same numbers.

    A cosine alone does not distinguish a run of 5 km from a run of 10 km.

    Args:
        text: the new fact.
        vector: its vector, float32 of shape ``(dimension,)``, of length 1.
        known: the texts and vectors of the known facts.
        same: the minimal cosine of similar words.
    """
    return any(
        _fold_text(text) == _fold_text(other)
        or (float(vector @ of_other) >= same and _list_numbers(text) == _list_numbers(other))
        for other, of_other in known
    )


def _fold_text(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _list_numbers(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))
