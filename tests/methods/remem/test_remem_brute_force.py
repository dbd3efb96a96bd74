"""Every tool gives what plain Python over the items gives, on random banks of gists and facts."""

from __future__ import annotations

import asyncio
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from toolbank import EMBEDDER, bank, context, date, fact, gist, ids, synonym, tools

from recollect.domain.links import LinkKind
from recollect.domain.triples import Comparison, TimeFilter, fold_phrase
from recollect.domain.validity import matches_filter, validity_of

PEOPLE = ("Ada", "ADA ", "Ben", "Cleo")
DEEDS = ("sang in", "left", "Sang  in")
PLACES = ("the choir", "the mill", "the opera")
TIMES = (None, "1980", "1981", "1981-06", "1981-06-07", "1982", "1983-01-01")
OPERATORS = tuple(one.value for one in Comparison)


def drawn(rng):
    """A bank: facts of few phrases and times, gists of few words, and edges between them."""
    facts = []
    for n in range(rng.randrange(1, 16)):
        start, end = rng.choice(TIMES), rng.choice(TIMES)
        if start and end and end[:4] < start[:4]:
            start, end = end, start
        facts.append(
            fact(n, rng.choice(PEOPLE), rng.choice(DEEDS), rng.choice(PLACES), start, end, message=rng.randrange(1, 9))
        )
    words = ("choir", "mill", "opera", "tea", "Ada", "Ben")
    gists = [
        gist(
            n, f"[8 May 2023] {' '.join(rng.sample(words, 3))} {n}", when=rng.choice(TIMES), message=rng.randrange(1, 9)
        )
        for n in range(rng.randrange(1, 9))
    ]
    edges = {(rng.choice(gists).id, rng.choice(facts).id) for _ in range(len(facts))}
    pairs = {tuple(sorted((rng.choice(gists).id, rng.choice(gists).id))) for _ in range(len(gists))}
    weights = (0.5, 0.8125, 1.0)
    links = [context(one, other, rng.choice(weights)) for one, other in sorted(edges)]
    links += [synonym(one, other, rng.choice(weights)) for one, other in sorted(pairs) if one != other]
    return gists, facts, links


def times(rng):
    """Some of the four arguments of time."""
    said = {
        "start_time": rng.choice(TIMES),
        "end_time": rng.choice(TIMES),
        "start_operator": rng.choice((None, *OPERATORS)),
        "end_operator": rng.choice((None, *OPERATORS)),
    }
    return {name: value for name, value in said.items() if value is not None}


def wanted(said):
    """What the four arguments mean, with the defaults of figure 8."""
    return TimeFilter(
        start=date(said.get("start_time")),
        start_operator=Comparison(said.get("start_operator", "ge")),
        end=date(said.get("end_time")),
        end_operator=Comparison(said.get("end_operator", "le")),
    )


def fitting(items, said):
    return [one for one in items if matches_filter(validity_of(one), wanted(said))]


def with_phrases(facts, phrases):
    """The facts whose phrases are these."""
    keys = {place: fold_phrase(phrase) for place, phrase in phrases.items()}
    return [one for one in facts if all(fold_phrase(getattr(one.triple, place)) == key for place, key in keys.items())]


def joined(items, others, links, kind):
    """What edges of a kind join to items, the heaviest first, and among equals what was kept first."""
    from_ = {one.id for one in items}
    weights = {}
    for link in links:
        for one, other in ((link.source, link.target), (link.target, link.source)):
            if link.kind is kind and one in from_ and other not in from_:
                weights[other] = max(weights.get(other, 0.0), link.weight)
    found = [one for one in others if one.id in weights]
    return sorted(found, key=lambda one: -weights[one.id])


def by_time(facts, ordering):
    if ordering is None:
        return facts
    if ordering == "asc":
        return sorted(facts, key=lambda one: (validity_of(one).start[0], validity_of(one).end[1]))
    return sorted(facts, key=lambda one: (-validity_of(one).end[1], -validity_of(one).start[0]))


seeds = st.integers(0, 2**32)


@settings(max_examples=150)
@given(seeds)
def test_find_entity_contexts(seed):
    rng = Random(seed)
    gists, facts, links = drawn(rng)
    phrases = {
        place: rng.choice(some)
        for place, some in (("subject", PEOPLE), ("predicate", DEEDS), ("object", PLACES))
        if rng.random() < 0.5
    } or {"predicate": "sang in"}
    said, ordering = times(rng), rng.choice((None, "asc", "desc"))
    limit, offset = rng.choice((None, 1, 2, 5)), rng.choice((0, 0, 1, 3))
    fit = fitting(with_phrases(facts, phrases), said)

    async def check():
        async with bank(*gists, *facts, links=links) as store:
            kit = tools(store, explored=4, retrieved=3)
            asked = {**phrases, **said, "ordering": ordering, "limit": limit, "offset": offset}
            found = await kit.find_entity_contexts(**asked)
            counts = [
                (await kit.find_entity_contexts(**phrases, **said, aggregation=how)).number
                for how in ("count", "count_unique_subjects", "count_unique_objects")
            ]
        assert found.facts_total == len(fit)
        shown = [one.item for one in found.facts]
        assert shown == by_time(fit, ordering)[offset:][: limit or 4]
        near = fitting(joined(shown, gists, links, LinkKind.CONTEXT), said)
        assert (ids(found.gists), found.gists_total) == ([one.id for one in near][:3], len(near))
        assert counts == [
            len(fit),
            len({fold_phrase(one.triple.subject) for one in fit}),
            len({fold_phrase(one.triple.object) for one in fit}),
        ]

    asyncio.run(check())


@settings(max_examples=80)
@given(seeds)
def test_find_gist_contexts(seed):
    rng = Random(seed)
    gists, facts, links = drawn(rng)
    said, start = times(rng), rng.choice(gists)

    async def check():
        async with bank(*gists, *facts, links=links) as store:
            found = await tools(store, retrieved=3).find_gist_contexts(start.id, **said)
        synonyms = fitting(joined([start], gists, links, LinkKind.SYNONYMY), said)
        contexts = fitting(joined([start], facts, links, LinkKind.CONTEXT), said)
        assert (ids(found.gists), found.gists_total) == ([one.id for one in synonyms][:3], len(synonyms))
        assert (ids(found.facts), found.facts_total) == ([one.id for one in contexts][:3], len(contexts))

    asyncio.run(check())


@settings(max_examples=80)
@given(seeds)
def test_semantic_retrieve(seed):
    rng = Random(seed)
    gists, facts, links = drawn(rng)
    said, words = times(rng), " ".join(rng.sample(("choir", "mill", "Ada", "left", "tea", "1980"), 2))

    async def check():
        (vector,) = await EMBEDDER.embed([words], purpose="query")
        async with bank(*gists, *facts, links=links) as store:
            found = await tools(store, retrieved=3).semantic_retrieve(words, **said)
        for kept, shown in ((gists, found.gists), (facts, found.facts)):
            fit = fitting(kept, said)
            cosines = await EMBEDDER.embed([one.text for one in fit]) @ vector if fit else np.zeros(0)
            assert len(shown) == min(len(fit), 3)
            assert {one.item.id for one in shown} <= {one.id for one in fit}
            near = sorted(cosines.tolist(), reverse=True)[:3]
            assert np.allclose([one.why.score for one in shown], near, atol=4e-3)  # kept in half precision

    asyncio.run(check())


@settings(max_examples=80)
@given(seeds)
def test_lexical_retrieve(seed):
    rng = Random(seed)
    gists, facts, links = drawn(rng)
    said, word = times(rng), rng.choice(("choir", "mill", "opera", "left", "Ben", "tea"))

    async def check():
        async with bank(*gists, *facts, links=links) as store:
            found = await tools(store, retrieved=30).lexical_retrieve(word, **said)
        for kept, shown in ((gists, found.gists), (facts, found.facts)):
            fit = {one.id for one in fitting(kept, said) if word.casefold() in one.text.casefold().split()}
            assert set(ids(shown)) == fit
            assert [one.why.rank for one in shown] == list(range(1, len(fit) + 1))

    asyncio.run(check())
