"""Compute what a search must find, in the slow and obvious way.

The stores' contract suite compares stores with this.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, instant_interval
from recollect.domain.triples import Aggregation, Ordering, Triple, TriplePattern, fold_phrase
from recollect.domain.validity import matches_filter, validity_of

K1, B = 1.2, 0.75
PASSAGE, SURROUNDINGS = 3, 2
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

Column = dict[str, float]


class BruteForce:
    """Every signal of every item for one probe, computed by loops over the items."""

    def __init__(self, items: Sequence[IndexedItem], probe: SearchProbe) -> None:
        self._items, self._probe = sorted(items, key=lambda entry: entry.item.order), probe
        self._chains = [self._chain(entry) for entry in self._items]

    def arms(self, weights: Weights) -> dict[str, Column]:
        """Return the score of every item in each arm."""
        signals = self.signals()
        return {
            "semantic": _mean(signals, {"meaning": weights.meaning, "surroundings": weights.surroundings}),
            "lexical": _mean(
                signals, {"exchange": weights.exchange, "passage": weights.passage, "session": weights.session}
            ),
            "temporal": self._nearness(),
        }

    def best(self, scores: Column, scope: Scope, k: int, *, positive: bool) -> list[tuple[str, float]]:
        """Return the ``k`` best items of a scope, and their scores."""
        open_ = [entry.item.id for entry in self._items if is_in_scope(entry.item, scope)]
        ranked = sorted(((id_, scores[id_]) for id_ in open_), key=lambda pair: -pair[1])
        return [pair for pair in ranked[:k] if pair[1] > 0 or not positive]

    def signals(self) -> dict[str, Column]:
        """Return the signals by name, each by item id. ``graph`` is left to the caller."""
        probe = self._probe
        return {
            "exchange": self._bm25(lambda entry, at: self._exchange(entry, at)),
            "passage": self._bm25(lambda entry, at: self._around(at, PASSAGE)),
            "session": self._sessions(),
            "phrase": self._each(lambda entry: any(_has_phrase(entry.item.text, p) for p in probe.phrases)),
            "meaning": self._each(lambda entry: float(entry.vector @ probe.vector)),
            "surroundings": {e.item.id: self._near(at) for at, e in enumerate(self._items)},
            "speaker": self._each(lambda entry: entry.item.speaker in probe.speakers),
            "dated": self._each(lambda entry: bool(entry.item.occurrences) and probe.asks_when),
            "asks": self._each(lambda entry: entry.asks),
            "temporal": {id_: (1 + near) / 2 if near else 0.0 for id_, near in self._nearness().items()},
        }

    def _nearness(self) -> Column:
        during = self._probe.during
        return self._each(lambda entry: 0.0 if during is None else _timely(entry.item, during))

    def _each(self, score: Callable[[IndexedItem], float | bool]) -> Column:
        return {entry.item.id: float(score(entry)) for entry in self._items}

    def _chain(self, entry: IndexedItem) -> list[IndexedItem]:
        """Return the items of the same kind in the same session, in order."""
        key = entry.item.kind, entry.item.session
        return [other for other in self._items if (other.item.kind, other.item.session) == key]

    def _around(self, at: int, reach: int) -> list[IndexedItem]:
        chain = self._chains[at]
        place = next(n for n, other in enumerate(chain) if other is self._items[at])
        return chain[max(0, place - reach) : place + reach + 1]

    def _exchange(self, entry: IndexedItem, at: int) -> list[IndexedItem]:
        before = [other for other in self._around(at, 1) if other.item.order < entry.item.order]
        alone = entry.item.kind in (ItemKind.GIST, ItemKind.TRIPLE) or len(entry.item.sources) > 1
        return [entry] if alone else [*before, entry]

    def _near(self, at: int) -> float:
        around = self._around(at, SURROUNDINGS)
        vector = np.sum([entry.vector * (len(entry.terms) + 1) for entry in around], axis=0)
        return float(vector @ self._probe.vector) / max(float(np.linalg.norm(vector)), 1e-6)

    def _bm25(self, text: Callable[[IndexedItem, int], list[IndexedItem]]) -> Column:
        documents = {entry.item.id: _terms(text(entry, at)) for at, entry in enumerate(self._items)}
        return _bm25(documents, self._probe)

    def _sessions(self) -> Column:
        by_session: dict[str, list[IndexedItem]] = {}
        for entry in self._items:
            by_session.setdefault(entry.item.session, []).append(entry)
        scores = _bm25({session: _terms(entries) for session, entries in by_session.items()}, self._probe)
        return self._each(lambda entry: scores[entry.item.session])


def is_in_scope(item: Item, scope: Scope) -> bool:
    """Return true if an item is in scope."""
    return (
        (not scope.kinds or item.kind in scope.kinds)
        and (not scope.sessions or item.session in scope.sessions)
        and (not scope.speakers or item.speaker in scope.speakers)
        and (scope.during is None or any(time.overlaps(scope.during) for time in _times(item)))
        and (scope.as_of is None or item.recorded <= scope.as_of)
        and (item.superseded is None or (scope.as_of is not None and scope.as_of < item.superseded))
        and not scope.exclude.intersection((item.id, *item.sources))
        and (scope.when is None or matches_filter(validity_of(item), scope.when))
    )


def select_triples(
    items: Iterable[Item], pattern: TriplePattern, scope: Scope, ordering: Ordering | None
) -> list[Item]:
    """Return the triples in scope that match a pattern, as they were at the moment of the scope.

    ``items`` must be in the order in which they were stored.
    """
    scope = replace(scope, kinds=())
    found = [item for item in items if _fits(item.triple, pattern) and is_in_scope(item, scope)]
    if ordering is Ordering.ASC:
        found.sort(key=lambda item: (validity_of(item).start[0], validity_of(item).end[1]))
    if ordering is Ordering.DESC:
        found.sort(key=lambda item: (-validity_of(item).end[1], -validity_of(item).start[0]))
    return found if scope.as_of is None else [item.as_of(scope.as_of) for item in found]


def count_triples(found: Sequence[Item], aggregation: Aggregation) -> int:
    """Return the number of triples, or the number of different subjects or objects that they have."""
    triples = [item.triple for item in found if item.triple is not None]
    match aggregation:
        case Aggregation.COUNT:
            return len(triples)
        case Aggregation.SUBJECTS:
            return len({fold_phrase(triple.subject) for triple in triples})
        case Aggregation.OBJECTS:
            return len({fold_phrase(triple.object) for triple in triples})


def select_linked(
    items: Iterable[Item], links: Iterable[Link], ends: Collection[str], kinds: Collection[LinkKind], scope: Scope
) -> list[tuple[Item, float]]:
    """Return the items that links of these kinds connect to any of the ends, the heaviest first, with weights.

    The weight of an item is that of its heaviest link.
    """
    weights: dict[str, float] = {}
    for link in links:
        for here, there in ((link.source, link.target), (link.target, link.source)):
            if here in ends and there not in ends and link.kind in kinds:
                weights[there] = max(link.weight, weights.get(there, 0.0))
    found = [(item, weights[item.id]) for item in items if item.id in weights and is_in_scope(item, scope)]
    found.sort(key=lambda pair: -pair[1])
    return [(item if scope.as_of is None else item.as_of(scope.as_of), weight) for item, weight in found]


def _fits(triple: Triple | None, pattern: TriplePattern) -> bool:
    return triple is not None and all(
        not wanted or fold_phrase(phrase) in map(fold_phrase, wanted)
        for phrase, wanted in (
            (triple.subject, pattern.subjects),
            (triple.predicate, pattern.predicates),
            (triple.object, pattern.objects),
        )
    )


def _terms(entries: Sequence[IndexedItem]) -> Counter[int]:
    return Counter(int(term) for entry in entries for term in entry.terms)


def _bm25(documents: Mapping[str, Counter[int]], probe: SearchProbe) -> Column:
    """Return BM25 scores as a share of the highest score that the probe's terms could reach."""
    mean = sum(words.total() for words in documents.values()) / max(len(documents), 1) or 1.0
    scores, most = dict.fromkeys(documents, 0.0), 0.0
    for term in probe.terms.tolist():
        having = sum(term in words for words in documents.values())
        rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        most += rarity * (K1 + 1)
        for name, words in documents.items():
            tf = words[term]
            scores[name] += rarity * tf * (K1 + 1) / (tf + K1 * (1 - B + B * words.total() / mean))
    return {name: score / most if most else 0.0 for name, score in scores.items()}


def _timely(item: Item, during: Interval) -> float:
    """Return how near an item is to the middle of a time (equations 13, 14).

    The time that is nearest to the middle counts: one that the item speaks of, or the moment at which it was mentioned.
    """
    return max(_closeness(time, during) for time in _times(item))


def _times(item: Item) -> list[Interval]:
    return [instant_interval(item.mentioned), *(one.interval for one in item.occurrences)]


def _closeness(time: Interval, during: Interval) -> float:
    if not time.overlaps(during):
        return 0.0
    if during.start is None or during.end is None:
        return 1.0
    start, end = max(time.start or _FIRST, during.start), min(time.end or _LAST, during.end)
    apart = abs((start + (end - start) / 2) - during.midpoint)
    return max(1 - apart / ((during.end - during.start) / 2), 0.01)


def _has_phrase(text: str, phrase: str) -> bool:
    return f" {_folded(phrase)} " in f" {_folded(text)} "


def _folded(text: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", text).lower() if not unicodedata.combining(c))
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())


def _mean(signals: Mapping[str, Column], weights: Mapping[str, float]) -> Column:
    total = sum(weights.values()) or 1.0
    ids = next(iter(signals.values()))
    return {id_: sum(w * signals[name][id_] for name, w in weights.items()) / total for id_ in ids}
