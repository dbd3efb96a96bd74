"""Make gists and facts to measure the tools: synthetic, seeded, in the form that a model would produce.

Each message has one gist and four facts, joined by context edges. Gists are joined to earlier gists by synonymy edges.
Some people and some predicates are far more frequent than others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np

from recollect.domain.changes import Changeset, Session
from recollect.domain.items import IndexedItem, Item, ItemKind, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Triple
from recollect.models.embedder import Embedder
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_all

START = datetime(2016, 3, 1, 8, tzinfo=UTC)
FACTS_A_MESSAGE = 4
MESSAGES_A_SESSION = 40
PREDICATES = 60
FACTS_A_SUBJECT = 25
FACTS_AN_OBJECT = 10
FIRST_YEAR, YEARS = 1950, 75
OPEN_SHARE, UNTIMED_SHARE = 0.2, 0.2
SKEW = 2.0

_DEEDS = "was the {} of|worked as {} for|met the {} at|told the {} about|lived near the {} of|paid the {} for".split(
    "|"
)
_ROLES = "doctor teacher baker pilot judge painter singer driver farmer tailor".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGraph:
    """The contents of a bank with ``facts`` facts, and a quarter as many gists."""

    facts: int
    seed: int = 0

    @property
    def messages(self) -> int:
        return max(self.facts // FACTS_A_MESSAGE, 1)

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the words of the first thousand facts, or of all if there are fewer."""
        digest = hashlib.sha256()
        for number in range(min(self.messages, 250)):
            for item in self._items(number):
                digest.update(f"{item.text}|{item.triple}\n".encode())
        return digest.hexdigest()

    def fact(self, number: int) -> Triple:
        """Return the fact with a number. It is the same each time."""
        rng = Random(f"{self.seed}:{number}")
        start = FIRST_YEAR + rng.randrange(YEARS)
        end = min(start + rng.randrange(12), FIRST_YEAR + YEARS)
        timed, closed = rng.random() >= UNTIMED_SHARE, rng.random() >= OPEN_SHARE
        return Triple(
            subject=f"E{self._skewed(rng, max(self.facts // FACTS_A_SUBJECT, 1))}",
            predicate=self._predicate(self._skewed(rng, PREDICATES)),
            object=f"P{self._skewed(rng, max(self.facts // FACTS_AN_OBJECT, 1))}",
            start=_year(start) if timed else None,
            end=_year(end) if timed and closed else None,
        )

    async def changeset(self, embedder: Embedder, numbers: range) -> Changeset:
        """Return the messages with these numbers and their items, with edges to earlier items."""
        items = [item for number in numbers for item in self._items(number)]
        texts = [item.text for item in items]
        vectors, tokens = await embedder.embed(texts), count_all(texts)
        sessions = {self._session(number): self._at(number) for number in reversed(numbers)}
        return Changeset(
            sessions=tuple(Session(id=id_, started=at) for id_, at in sessions.items()),
            messages=tuple(self._message(number) for number in numbers),
            items=tuple(
                IndexedItem(item=replace(item, tokens=cost), vector=vector, terms=np.asarray(extract_terms(item.text)))
                for item, vector, cost in zip(items, vectors, tokens, strict=True)
            ),
            links=tuple(link for number in numbers for link in self._links(number)),
        )

    @staticmethod
    def _skewed(rng: Random, count: int) -> int:
        """Return a random number below ``count``. Low numbers are far more frequent."""
        return int(count * rng.random() ** SKEW)

    @staticmethod
    def _predicate(number: int) -> str:
        return _DEEDS[number % len(_DEEDS)].format(_ROLES[number // len(_DEEDS)])

    @staticmethod
    def _session(number: int) -> str:
        return f"s{number // MESSAGES_A_SESSION}"

    @staticmethod
    def _at(number: int) -> datetime:
        return START + timedelta(minutes=30 * number)

    def _message(self, number: int) -> StoredMessage:
        return StoredMessage(
            id=f"m{number}",
            session=self._session(number),
            position=number % MESSAGES_A_SESSION,
            speaker="Nora",
            role=Role.USER,
            text=f"message {number}",
            captions=(),
            at=self._at(number),
            recorded=self._at(number),
        )

    def _items(self, number: int) -> list[Item]:
        """Return the gist of a message and its facts."""
        triples = [self.fact(number * FACTS_A_MESSAGE + n) for n in range(FACTS_A_MESSAGE)]
        told = "; ".join(f"{one.subject} {one.predicate} {one.object}" for one in triples[:2])
        base = Item(
            id=f"gist:{number}",
            kind=ItemKind.GIST,
            text=f"[{self._at(number):%d %B %Y, %H:%M}] {told}",
            session=self._session(number),
            speaker="Nora",
            sources=(f"m{number}",),
            mentioned=self._at(number),
            recorded=self._at(number),
            order=number % MESSAGES_A_SESSION,
            occurrences=_occurrences(triples[0]),
        )
        return [base, *(self._fact_item(base, number, n, triple) for n, triple in enumerate(triples))]

    @staticmethod
    def _fact_item(gist: Item, number: int, n: int, triple: Triple) -> Item:
        return replace(
            gist,
            id=f"fact:{number}:{n}",
            kind=ItemKind.TRIPLE,
            text=f"{triple.subject} {triple.predicate} {triple.object}",
            order=gist.order * FACTS_A_MESSAGE + n,
            occurrences=_occurrences(triple),
            triple=triple,
        )

    def _links(self, number: int) -> Iterator[Link]:
        for n in range(FACTS_A_MESSAGE):
            yield Link(source=f"gist:{number}", target=f"fact:{number}:{n}", kind=LinkKind.CONTEXT, weight=1.0)
        rng = Random(f"{self.seed}:links:{number}")
        for _ in range(2 if number else 0):
            other = rng.randrange(number)
            yield Link(source=f"gist:{number}", target=f"gist:{other}", kind=LinkKind.SYNONYMY, weight=0.85)


def _year(year: int) -> Interval:
    return Interval(
        start=datetime(year, 1, 1, tzinfo=UTC), end=datetime(year + 1, 1, 1, tzinfo=UTC), precision=Precision.YEAR
    )


def _occurrences(triple: Triple) -> tuple[Occurrence, ...]:
    if triple.start is None:
        return ()
    end = None if triple.end is None else triple.end.end
    whole = Interval(start=triple.start.start, end=end, precision=Precision.RANGE)
    return (Occurrence(words="", interval=whole),)
