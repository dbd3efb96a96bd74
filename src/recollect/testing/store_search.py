"""The part of the stores' contract about searching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from recollect.domain.changes import Changeset
from recollect.domain.items import ItemKind, ItemStage
from recollect.domain.queries import Scope
from recollect.domain.signals import Weights
from recollect.store.protocol import Store
from recollect.store.search import Hits
from recollect.testing.brute_force import BruteForce, is_in_scope
from recollect.testing.store_material import (
    CLOSE,
    NO_GRAPH,
    changes_of,
    corpus,
    day,
    indexed,
    message,
    probe,
    scopes,
    unit,
)
from recollect.testing.store_tolerance import Tolerance

LEXICAL_SIGNALS = ("exchange", "passage", "session")
FEW = 7
Ranked = Sequence[tuple[str, float]]


class SearchContract:
    """The contract of searching. The store's author declares ``tolerance``. The default is an exact engine."""

    tolerance = Tolerance()

    @pytest.mark.parametrize("arm", ["semantic", "lexical"])
    def test_the_engine_declares_what_is_exact(self, arm: str) -> None:
        """Show in the suite's own output which arms were compared with brute force only as far as declared."""
        if not self.tolerance.is_exact(arm):
            pytest.skip(f"declared: the {arm} arm is not exact ({self.tolerance})")

    @pytest.mark.parametrize(
        "name", ["everything", "kinds", "sessions", "speakers", "during", "as_of", "exclude", "nobody"]
    )
    @pytest.mark.parametrize("k", [1, 7, 500])
    async def test_arms_agree_with_brute_force_inside_every_scope(self, store: Store, name: str, k: int) -> None:
        changes = corpus()
        await store.commit(changes)
        scope, asked = scopes()[name], probe(3, during=day(), terms=np.array([3, 4, 99], dtype=np.uint32))
        brute = BruteForce(changes.items, asked)
        items = {entry.item.id: entry.item for entry in changes.items}
        search = await store.search(asked, scope, Weights())
        for arm, scores in brute.arms(Weights()).items():
            hits = await getattr(search, arm)(k)
            ids = [item.id for _, item in await search.load(hits.refs)]
            expected = brute.best(scores, scope, k, positive=arm != "semantic")
            assert len(set(ids)) == len(ids)
            assert sorted(hits.scores.tolist(), reverse=True) == hits.scores.tolist(), arm
            assert all(is_in_scope(items[id_], scope) for id_ in ids), arm
            if arm != "lexical" or self.tolerance.lexical:
                self._compare(arm, ids, hits, scores, expected)

    def _compare(
        self,
        arm: str,
        ids: Sequence[str],
        hits: Hits,
        scores: Mapping[str, float],
        expected: Ranked,
    ) -> None:
        """Compare the hits of an arm with brute force, as far as the tolerance requires."""
        assert len(ids) == len(expected), arm
        close = self.tolerance.scores
        np.testing.assert_allclose([scores[id_] for id_ in ids], hits.scores, atol=close, err_msg=arm)
        if self.tolerance.is_exact(arm):
            np.testing.assert_allclose(hits.scores, [score for _, score in expected], atol=close, err_msg=arm)
        elif len(expected) >= FEW:
            share = len({id_ for id_, _ in expected} & set(ids)) / len(expected)
            assert share >= self.tolerance.semantic, arm

    @pytest.mark.parametrize("k", [1, 7, 500])
    async def test_tiers_are_ranked_as_searches_of_their_own(self, store: Store, k: int) -> None:
        changes = corpus()
        await store.commit(changes)
        asked = probe(3, during=day(), terms=np.array([3, 4, 99], dtype=np.uint32))
        kinds = list(dict.fromkeys(entry.item.kind for entry in changes.items))
        tiers = ((kinds[0], ItemKind.EPISODE), tuple(kinds[1:]))
        together = await store.search(asked, Scope(speakers=("Ada", "Ben")), Weights(), tiers)
        alone = [await store.search(asked, Scope(speakers=("Ada", "Ben"), kinds=some), Weights()) for some in tiers]
        for arm in ("semantic", "lexical", "temporal"):
            hits = (await getattr(together, arm)(k)).by_tier()
            assert len(hits) == len(tiers)
            for part, search in zip(hits, alone, strict=True):
                expected = await getattr(search, arm)(k)
                assert part.refs.tolist() == expected.refs.tolist(), arm
                np.testing.assert_array_equal(part.scores, expected.scores)
        refs = [(await search.semantic(10)).refs for search in alone]
        edges = await together.edges(np.concatenate(refs), 3)
        apart = [await search.edges(some, 3) for search, some in zip(alone, refs, strict=True)]
        got = sorted(zip(edges.origins.tolist(), edges.targets.tolist(), edges.kinds.tolist(), strict=True))
        assert got == sorted(
            pair
            for one in apart
            for pair in zip(one.origins.tolist(), one.targets.tolist(), one.kinds.tolist(), strict=True)
        )

    async def test_what_grew_is_as_it_was_then(self, store: Store) -> None:
        said = [message(0, text="one"), message(1, text="two")]
        grown = indexed(said[0], others=("m1",))
        stage = ItemStage(until=said[1].recorded, sources=1, characters=3, tokens=5)
        item = replace(grown.item, text="one\nAda: two", tokens=9, stages=(stage,))
        await store.commit(changes_of(said, items=(replace(grown, item=item),)))
        assert await store.items(["turn:m0"]) == [item]
        moment = timedelta(microseconds=1)
        for as_of, texts in (
            (said[0].recorded - moment, []),
            (said[0].recorded, [("one", ("m0",), 5)]),
            (said[1].recorded - moment, [("one", ("m0",), 5)]),
            (said[1].recorded, [("one\nAda: two", ("m0", "m1"), 9)]),
            (None, [("one\nAda: two", ("m0", "m1"), 9)]),
        ):
            search = await store.search(probe(), Scope(as_of=as_of), Weights())
            loaded = [item for _, item in await search.load((await search.semantic(9)).refs)]
            assert [(item.text, item.sources, item.tokens) for item in loaded] == texts

    async def test_signals_agree_with_brute_force(self, store: Store) -> None:
        changes = corpus()
        await store.commit(changes)
        phrase = " ".join(changes.items[5].item.text.split()[1:3]).upper()
        asked = probe(
            3,
            during=day(),
            terms=np.array([3, 4, 99], dtype=np.uint32),
            speakers=("Ben",),
            phrases=(phrase,),
            asks_when=True,
        )
        search = await store.search(asked, Scope(), Weights())
        hits = await search.semantic(500)
        ids = [item.id for _, item in await search.load(hits.refs)]
        graph = np.linspace(0, 1, len(ids)).astype(np.float32)
        signals = await search.signals(hits.refs, graph)
        for name, expected in BruteForce(changes.items, asked).signals().items():
            if name in LEXICAL_SIGNALS and not self.tolerance.lexical:
                continue
            column = [expected[id_] for id_ in ids]
            np.testing.assert_allclose(getattr(signals, name), column, atol=self.tolerance.scores, err_msg=name)
        np.testing.assert_array_equal(signals.graph, graph)
        assert signals.phrase.any()

    async def test_edges_are_the_heaviest_in_scope(self, store: Store) -> None:
        changes = corpus()
        await store.commit(changes)
        scope = Scope(speakers=("Ada", "Ben"))
        search = await store.search(probe(), scope, Weights())
        hits = await search.semantic(10)
        ref_of = {item.id: ref for ref, item in await search.load((await search.semantic(500)).refs)}
        edges = await search.edges(hits.refs, 2)
        rounded = np.round(edges.weights.astype(float), 3).tolist()
        got = sorted(zip(edges.origins.tolist(), edges.targets.tolist(), rounded, strict=True))
        expected = []
        for ref in hits.refs.tolist():
            both = [(k.source, k.target, k.weight) for k in changes.links]
            own = [
                (ref_of[b], w)
                for a, b, w in (*both, *((b, a, w) for a, b, w in both))
                if ref_of.get(a) == ref and b in ref_of
            ]
            expected += [(ref, target, w) for target, w in sorted(own, key=lambda edge: -edge[1])[:2]]
        assert got == sorted(expected)
        assert len(edges.kinds) == len(edges.origins)

    async def test_within_time_and_load_keep_their_order(self, store: Store) -> None:
        changes = corpus(30)
        await store.commit(changes)
        asked = probe(during=day())
        search = await store.search(asked, Scope(), Weights())
        refs = (await search.semantic(30)).refs[::-1]
        loaded = await search.load(refs)
        assert [ref for ref, _ in loaded] == refs.tolist()
        timely = BruteForce(changes.items, asked).signals()["temporal"]
        inside = await search.within_time(refs)
        assert inside.tolist() == [timely[item.id] > 0 for _, item in loaded]

    async def test_nearest_gives_ids_and_cosines(self, store: Store) -> None:
        changes = corpus(30)
        await store.commit(changes)
        wanted = np.stack([unit(3), unit(4)])
        matrix = np.stack([entry.vector for entry in changes.items])
        for row, got in zip(wanted @ matrix.T, await store.nearest(wanted, 5, -1.0), strict=True):
            assert [score for _, score in got] == pytest.approx(sorted(row, reverse=True)[:5], abs=CLOSE)
            by_id = {entry.item.id: score for entry, score in zip(changes.items, row, strict=True)}
            assert all(score == pytest.approx(by_id[id_], abs=CLOSE) for id_, score in got)

    async def test_an_empty_bank_finds_nothing(self, store: Store) -> None:
        search = await store.search(probe(during=day(), phrases=("dog",)), Scope(), Weights())
        for arm in ("semantic", "lexical", "temporal"):
            hits = await getattr(search, arm)(5)
            assert len(hits.refs) == len(hits.scores) == 0
        nothing = np.empty(0, dtype=np.int64)
        assert len((await search.edges(nothing, 5)).origins) == 0
        assert len((await search.signals(nothing, NO_GRAPH)).meaning) == 0
        assert await store.nearest(np.stack([unit(1)]), 3, -1.0) == [[]]

    async def test_a_search_that_is_open_survives_writes(self, store: Store) -> None:
        await store.commit(changes_of([message(at) for at in range(5)]))
        for scope in (Scope(), Scope(speakers=("Ada",))):
            search = await store.search(probe(during=day()), scope, Weights())
            first = await search.semantic(500)
            await search.lexical(500)
            number = len(await store.messages())
            await store.commit(changes_of([message(number), message(number + 1)]))
            await store.commit(Changeset(items=(indexed(message(0), seed=5),)))
            await store.nearest(np.stack([unit(1)]), 3, -1.0)  # brings the index up to date
            for arm in ("semantic", "lexical", "temporal"):
                assert len((await getattr(search, arm)(500)).refs) >= 5
            await search.edges(first.refs, 5)
            assert len((await search.signals(first.refs, np.zeros(len(first.refs), np.float32))).meaning) == len(
                first.refs
            )
            assert (await search.within_time(first.refs)).shape == first.refs.shape
