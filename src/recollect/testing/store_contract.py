"""What every store must do: subclass, give the fixture, and pytest (with pytest-asyncio, ``auto``) runs the rest.

::

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def stores(self) -> AsyncIterator[Stores]:
            stores = MyStores()
            yield stores
            await stores.close()
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone

import numpy as np
import pytest

from recollect.domain.changes import Changeset
from recollect.domain.entities import Entity, EntityKind, Mention
from recollect.domain.items import IndexedItem, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role
from recollect.domain.queries import Scope
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput, MessageConflict, StaleWrite
from recollect.memory.memory import Stores
from recollect.store.protocol import Selection, Store
from recollect.testing.brute_force import BruteForce
from recollect.testing.store_material import (
    CLOSE,
    DIMENSION,
    EMBEDDER,
    NO_GRAPH,
    NOW,
    T0,
    broken,
    changes_of,
    corpus,
    day,
    dumped,
    entities_of,
    found,
    indexed,
    message,
    probe,
    scopes,
    unit,
)


class StoreContract:
    """The contract suite of stores. ``exact``: a search over meanings is exhaustive, however small the bank."""

    exact = True

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError("give an empty place for banks in a fixture called stores")

    @pytest.fixture
    def store(self, stores: Stores) -> Store:
        return stores.open("bank", embedder=EMBEDDER, dimension=DIMENSION)

    # Writing

    async def test_messages_come_back_as_they_were_given(self, store: Store) -> None:
        zone = timezone(timedelta(hours=-9, minutes=-30))
        said = [
            replace(message(0), text="nul \0 שלום 🐕 \r\n", captions=('a "cat"', "[x]"), at=T0.astimezone(zone)),
            replace(message(1), speaker="Zoë", role=Role.ASSISTANT, text=""),
        ]
        await store.commit(changes_of(said))
        kept = await store.messages()
        assert kept == said
        assert [m.at.utcoffset() for m in kept] == [m.at.utcoffset() for m in said]
        assert await store.messages(["m1"]) == said[1:]
        assert await store.messages(["unknown"]) == []

    async def test_items_come_back_as_they_were_given(self, store: Store) -> None:
        changes = corpus(30)
        await store.commit(changes)
        items = [entry.item for entry in changes.items]
        assert await store.items([item.id for item in reversed(items)]) == items[::-1]

    @pytest.mark.parametrize("part", ["link", "mention", "source", "origin", "vector"])
    async def test_a_commit_is_all_or_nothing(self, store: Store, part: str) -> None:
        await store.commit(changes_of([message(0)]))
        before = await dumped(store), (await store.known(["s1"], [])).version
        with pytest.raises(InvalidInput):
            await store.commit(broken(part))
        assert (await dumped(store), (await store.known(["s1"], [])).version) == before
        assert await found(await store.search(probe(), Scope(), Weights()), "semantic", 9) == ["turn:m0"]

    async def test_a_taken_message_id_is_a_conflict(self, store: Store) -> None:
        await store.commit(changes_of([message(0)]))
        with pytest.raises(MessageConflict):
            await store.commit(changes_of([message(1), message(0, text="other words")]))
        assert [m.text for m in await store.messages()] == ["message 0"]

    async def test_a_stale_write_is_refused(self, store: Store) -> None:
        seen = (await store.known([], [])).version
        await store.commit(changes_of([message(0)], seen=seen, author="me"))
        assert (await store.known([], [])).author == "me"
        with pytest.raises(StaleWrite):
            await store.commit(changes_of([message(1)], seen=seen))
        assert len(await store.messages()) == 1
        await store.commit(changes_of([message(1)], seen=(await store.known([], [])).version))

    async def test_an_item_put_again_keeps_the_links_of_others_and_is_found_by_its_new_words(
        self, store: Store
    ) -> None:
        said = [message(at) for at in range(3)]
        links = (
            Link(source="turn:m0", target="turn:m1", kind=LinkKind.SEMANTIC, weight=0.5),
            Link(source="turn:m2", target="turn:m0", kind=LinkKind.SEMANTIC, weight=0.75),
        )
        await store.commit(changes_of(said, links=links))
        again = indexed(replace(said[0], text="rewritten"), seed=77, terms=(50,), others=("m1",))
        await store.commit(Changeset(items=(again,)))
        assert [link async for part in store.dump() for link in part.links] == [links[1]]
        search = await store.search(probe(77, terms=np.array([50], dtype=np.uint32)), Scope(), Weights())
        assert (await found(search, "lexical", 1))[0] == "turn:m0"
        assert len(await found(search, "semantic", 9)) == 3
        assert (await store.items(["turn:m0"]))[0].text == "rewritten"
        old = await store.search(probe(0, terms=np.array([1], dtype=np.uint32)), Scope(), Weights(passage=0, session=0))
        assert "turn:m0" not in await found(old, "lexical", 9)

    async def test_entities_grow_and_mentions_are_listed(self, store: Store) -> None:
        await store.commit(corpus(30))
        later = Entity(id="e1", name="Ada L.", kind=EntityKind.PERSON, first_seen=NOW, last_seen=NOW + timedelta(1))
        await store.commit(Changeset(entities=(later,)))
        tables = await store.entity_tables()
        ada = next(entity for entity in tables.entities if entity.id == "e1")
        assert (ada.name, ada.first_seen, ada.last_seen) == ("Ada L.", T0, later.last_seen)
        assert sorted(tables.aliases) == [("e1", "A.", 1), ("e1", "Ada", 1), ("e2", "Paris", 1)]
        assert tables.pairs == (("e1", "e2"),)
        assert [m.surface for m in await store.mentions("e1")] == ["Ada", "A."]
        assert await store.recent_mentions(["e1", "e9"], 1) == {"e1": ("turn:m1",), "e9": ()}

    async def test_known_tells_where_sessions_end(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1), message(9, session="s2", position=0)]))
        known = await store.known(["s1", "s2", "new"], ["m0", "m8"])
        ends = {name: (end.messages, end.last and end.last.id) for name, end in known.ends.items()}
        assert ends == {"s1": (2, "turn:m1"), "s2": (1, "turn:m9"), "new": (0, None)}
        assert list(known.kept) == ["m0"]
        assert {item.id for item in known.recent} == {"turn:m0", "turn:m1", "turn:m9"}
        assert set(await store.speakers()) == {"Ada"}

    # Searching

    @pytest.mark.parametrize(
        "name", ["everything", "kinds", "sessions", "speakers", "during", "as_of", "exclude", "nobody"]
    )
    @pytest.mark.parametrize("k", [1, 7, 500])
    async def test_arms_agree_with_brute_force_inside_every_scope(self, store: Store, name: str, k: int) -> None:
        changes = corpus()
        await store.commit(changes)
        scope, asked = scopes()[name], probe(3, during=day(), terms=np.array([3, 4, 99], dtype=np.uint32))
        brute = BruteForce(changes.items, asked)
        search = await store.search(asked, scope, Weights())
        for arm, scores in brute.arms(Weights()).items():
            hits = await getattr(search, arm)(k)
            ids = [item.id for _, item in await search.load(hits.refs)]
            expected = brute.best(scores, scope, k, positive=arm != "semantic")
            assert len(ids) == len(expected), arm
            if arm == "semantic" and not self.exact:
                continue
            np.testing.assert_allclose(hits.scores, [score for _, score in expected], atol=CLOSE, err_msg=arm)
            np.testing.assert_allclose([scores[id_] for id_ in ids], hits.scores, atol=CLOSE, err_msg=arm)
            assert len(set(ids)) == len(ids)

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
            column = [expected[id_] for id_ in ids]
            np.testing.assert_allclose(getattr(signals, name), column, atol=CLOSE, err_msg=name)
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

    # Forgetting

    async def test_forgetting_takes_everything_derived_along(self, store: Store) -> None:
        said = [message(0, text="the dog"), message(1), message(2, session="s2", position=0)]
        fact = replace(indexed(said[1], seed=50).item, id="fact", kind=ItemKind.FACT, derived_from=("turn:m0",))
        links = (Link(source="turn:m0", target="turn:m1", kind=LinkKind.CAUSAL, weight=1.0, label="causes"),)
        entry = IndexedItem(item=fact, vector=unit(50), terms=np.array([5], dtype=np.uint32))
        base = changes_of(said, links=links)
        entities = entities_of(["turn:m0", "turn:m0"])
        await store.commit(replace(base, items=(*base.items, entry), **entities))  # type: ignore[arg-type]
        receipt, orphans = await store.forget(Selection(messages=("m0",)))
        assert receipt.messages == ("m0",)
        numbers = (receipt.sessions, receipt.items, receipt.links, receipt.entities, receipt.mentions, receipt.jobs)
        assert numbers == (0, 2, 1, 2, 3, 0)
        assert (receipt.verified, receipt.leftovers, orphans) == (True, (), [])
        assert [m.id for m in await store.messages()] == ["m1", "m2"]
        assert await store.items(["turn:m0", "fact"]) == []
        tables = await store.entity_tables()
        assert (tables.entities, tables.aliases, await store.merges()) == ((), (), ())
        search = await store.search(probe(), Scope(), Weights())
        assert set(await found(search, "semantic", 9)) == {"turn:m1", "turn:m2"}

    async def test_forgetting_gives_what_lost_its_turn(self, store: Store) -> None:
        said = [message(0), message(1)]
        both = indexed(said[0], others=("m1",))
        await store.commit(changes_of(said, items=(both,)))
        receipt, orphans = await store.forget(Selection(messages=("m0", "unknown")))
        assert (receipt.messages, receipt.items, orphans) == (("m0",), 1, said[1:])

    @pytest.mark.parametrize(
        ("selection", "left"),
        [
            (Selection(sessions=("s1",)), {"m2"}),
            (Selection(speakers=("Ben",)), {"m0", "m2"}),
            (
                Selection(during=Interval(start=T0, end=T0 + timedelta(minutes=1), precision=Precision.RANGE)),
                {"m1", "m2"},
            ),
            (Selection(during=Interval(start=None, end=T0, precision=Precision.RANGE)), {"m0", "m1", "m2"}),
            (Selection(entities=("Paris",)), {"m1", "m2"}),
            (Selection(entities=("e1",)), {"m1", "m2"}),
            (Selection(messages=("m0",), speakers=("Ben",)), {"m2"}),
        ],
    )
    async def test_what_a_selection_means(self, store: Store, selection: Selection, left: set[str]) -> None:
        said = [message(0), message(1, speaker="Ben"), message(2, session="s2", position=0)]
        await store.commit(changes_of(said, **entities_of(["turn:m0", "turn:m0"])))
        receipt, _ = await store.forget(selection)
        assert {m.id for m in await store.messages()} == left
        assert set(receipt.messages) == {"m0", "m1", "m2"} - left

    async def test_forgetting_nothing_is_a_receipt_of_zeros(self, store: Store) -> None:
        await store.commit(changes_of([message(0)]))
        before = await dumped(store)
        receipt, orphans = await store.forget(Selection(messages=("unknown",)))
        assert (receipt.messages, receipt.items, receipt.sessions, receipt.verified, orphans) == ((), 0, 0, True, [])
        assert await dumped(store) == before

    # Jobs

    async def test_a_job_is_claimed_once_and_again_when_its_lease_is_over(self, store: Store) -> None:
        await store.commit(Changeset(jobs=(Job(id="j1", kind="merge", payload="{}"),)))
        await store.commit(Changeset(jobs=(Job(id="j1", kind="merge", payload="{}"),)))
        assert await store.claim(["other"], "w1", NOW, 60) is None
        job = await store.claim(["merge"], "w1", NOW, 60)
        assert job == Job(id="j1", kind="merge", payload="{}", attempts=1)
        assert await store.claim(["merge"], "w2", NOW + timedelta(seconds=59), 60) is None
        again = await store.claim(["merge"], "w2", NOW + timedelta(seconds=61), 60)
        assert again is not None
        assert again.attempts == 2
        await store.settle(again, error=None, now=NOW)
        assert await store.claim(["merge"], "w1", NOW + timedelta(days=9), 60) is None

    async def test_a_worker_that_is_late_does_not_fail_the_job_of_another(self, store: Store) -> None:
        await store.commit(Changeset(jobs=(Job(id="j1", kind="merge", payload="{}"),)))
        late = await store.claim(["merge"], "w1", NOW, 1)
        current = await store.claim(["merge"], "w2", NOW + timedelta(seconds=5), 60)
        assert late is not None
        assert current is not None
        await store.settle(late, error="too late", now=NOW + timedelta(seconds=6))
        assert await store.claim(["merge"], "w3", NOW + timedelta(seconds=50), 60) is None
        await store.settle(current, error=None, now=NOW)
        await store.settle(late, error="later still", now=NOW)
        assert await store.claim(["merge"], "w3", NOW + timedelta(days=9), 60) is None

    @pytest.mark.parametrize("ending", ["error", "lease"])
    async def test_a_job_that_keeps_failing_is_given_up(self, store: Store, ending: str) -> None:
        await store.commit(Changeset(jobs=(Job(id="j1", kind="merge", payload="{}"),)))
        now, attempts = NOW, 0
        while (job := await store.claim(["merge"], "w", now, 60)) is not None:
            attempts += 1
            assert (job.attempts, attempts < 50) == (attempts, True)
            if ending == "error":
                await store.settle(job, error="broken", now=now)
                assert await store.claim(["merge"], "w", now + timedelta(seconds=1), 60) is None, "retried at once"
            now += timedelta(days=1)
        assert attempts > 1

    # The whole bank

    async def test_banks_are_walls(self, stores: Stores, store: Store) -> None:
        other = stores.open("other", embedder=EMBEDDER, dimension=DIMENSION)
        await store.commit(changes_of([message(0, text="mine")]))
        await other.commit(changes_of([message(0, text="theirs", session="s9")]))
        assert [m.text for m in await store.messages()] == ["mine"]
        search = await other.search(probe(), Scope(), Weights())
        assert [item.text for _, item in await search.load((await search.semantic(9)).refs)] == ["theirs"]
        await store.forget(Selection(messages=("m0",)))
        assert [m.text for m in await other.messages()] == ["theirs"]
        await stores.drop("bank")
        assert stores.names() == ("other",)
        assert [m.text for m in await other.messages()] == ["theirs"]

    async def test_a_dump_makes_the_same_bank_again(self, stores: Stores, store: Store) -> None:
        await store.commit(corpus())
        # An early item that is later made of a newer one, as a merged episode is.
        first = indexed(message(0, session="s0", position=0))
        await store.commit(Changeset(items=(replace(first, item=replace(first.item, derived_from=("turn:m89",))),)))
        copy = stores.open("copy", embedder=EMBEDDER, dimension=DIMENSION)
        async for part in store.dump():
            await copy.commit(part)
        before, after = await dumped(store), await dumped(copy)
        assert len(before) == len(after)
        assert sorted(map(repr, before)) == sorted(map(repr, after))
        third = stores.open("third", embedder=EMBEDDER, dimension=DIMENSION)
        async for part in copy.dump():
            await third.commit(part)
        assert await dumped(third) == after

    async def test_a_dump_is_of_one_moment(self, stores: Stores, store: Store) -> None:
        await store.commit(corpus(30))
        copy = stores.open("copy", embedder=EMBEDDER, dimension=DIMENSION)
        before = await dumped(store)
        parts = store.dump()
        await copy.commit(await anext(parts))
        await store.commit(changes_of([message(200, session="s9", position=0)]))
        async for part in parts:
            await copy.commit(part)
        assert await dumped(copy) == before

    async def test_vectors_are_replaced_together_with_their_embedders_name(self, stores: Stores, store: Store) -> None:
        changes = corpus(12)
        await store.commit(changes)
        before = [value for value in await dumped(store) if not isinstance(value, tuple)]
        vectors = [(entry.item.id, np.eye(8, dtype=np.float32)[at % 8]) for at, entry in enumerate(changes.items)]
        await store.replace_vectors("other-8", 8, vectors)
        assert (store.embedder, store.dimension) == ("other-8", 8)
        assert [value for value in await dumped(store) if not isinstance(value, tuple)] == before
        asked = replace(probe(), vector=np.eye(8, dtype=np.float32)[3])
        hits = await (await store.search(asked, Scope(), Weights(surroundings=0))).semantic(1)
        assert hits.scores.tolist() == pytest.approx([1.0])

    async def test_vectors_of_some_items_only_are_refused(self, store: Store) -> None:
        await store.commit(corpus(12))
        with pytest.raises(StaleWrite):
            await store.replace_vectors("other-8", 8, [("turn:m0", np.eye(8, dtype=np.float32)[0])])
        assert (store.embedder, store.dimension) == (EMBEDDER, DIMENSION)
        assert len((await (await store.search(probe(), Scope(), Weights())).semantic(50)).refs) == 12

    async def test_a_split_moves_mentions_and_remembers(self, store: Store) -> None:
        await store.commit(corpus(12))
        (merge,) = await store.merges()
        own = Entity(id="e3", name="A.", kind=EntityKind.PERSON, first_seen=T0, last_seen=T0)
        moved = [Mention(entity="e3", item="turn:m1", surface="A.")]
        await store.split(replace(merge, undone=NOW), own, moved)
        assert [m.surface for m in await store.mentions("e1")] == ["Ada"]
        assert await store.mentions("e3") == tuple(moved)
        assert await store.merges() == (replace(merge, undone=NOW),)
        assert (await store.entity_tables()).undone == (replace(merge, undone=NOW),)

    async def test_info_counts(self, store: Store) -> None:
        empty = await store.info()
        assert (empty.messages, empty.first, empty.embedder, empty.dimension) == (0, None, EMBEDDER, DIMENSION)
        changes = corpus(30)
        await store.commit(changes)
        info = await store.info()
        assert (info.messages, info.sessions, info.items, info.entities) == (30, 3, 30, 2)
        assert info.links == len(changes.links)
        assert (info.first, info.last) == (T0, T0 + timedelta(minutes=29))
