"""The contract of stores. Subclass it and define the fixture, and pytest (with pytest-asyncio, ``auto``) runs the rest.

A store that can be written and forgotten from, and that has a queue of jobs, uses :class:`StoreContract`. Tests of
segments and triples are skipped if the store does not declare them. A test double that only stores and finds uses
:class:`CoreContract`. If an engine's search is less exact than brute force, ``tolerance`` declares by how much.

::

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def stores(self) -> AsyncIterator[Stores]:
            stores = MyStores()
            yield stores
            await stores.close()
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta, timezone

import numpy as np
import pytest

from recollect.domain.changes import Changeset, Session, Supersession
from recollect.domain.entities import Entity, EntityKind, Mention, NameInUse
from recollect.domain.items import ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role
from recollect.domain.queries import Scope
from recollect.domain.signals import Weights
from recollect.errors import BankExists, InvalidInput, MessageConflict, StaleWrite
from recollect.store.protocol import ForgetSelection, Store
from recollect.store.stores import Stores
from recollect.testing.store_forgetting import ForgettingContract
from recollect.testing.store_jobs import JobsContract
from recollect.testing.store_material import (
    DIMENSION,
    EMBEDDER,
    NOW,
    T0,
    broken,
    changes_of,
    corpus,
    day,
    dumped,
    found,
    indexed,
    message,
    probe,
    unit,
)
from recollect.testing.store_search import SearchContract
from recollect.testing.store_segments import SegmentsContract
from recollect.testing.store_triples import TriplesContract


class CoreContract(SearchContract):
    """The contract of every store: it stores, reads, finds and dumps."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError("define a fixture named stores that returns an empty place for banks")

    @pytest.fixture
    async def store(self, stores: Stores) -> Store:
        return await stores.open("bank", embedder=EMBEDDER, dimension=DIMENSION)

    # Writing

    async def test_messages_come_back_as_they_were_given(self, store: Store) -> None:
        zone = timezone(timedelta(hours=-9, minutes=-30))
        said = [
            replace(message(0), text="nul \0 שלום 🐕 \r\n", captions=('a "cat"', "[x]"), at=T0.astimezone(zone)),
            replace(message(1), speaker="Zoë", role=Role.ASSISTANT, text="", important=True),
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

    # Whole banks

    async def test_a_bank_is_created_with_its_contents(self, stores: Stores) -> None:
        async def fill(staged: Store) -> None:
            assert await stores.names() == ()
            await staged.commit(changes_of([message(0)]))
            await staged.commit(changes_of([message(1)]))
            assert await stores.names() == ()

        store = await stores.create("bank", embedder=EMBEDDER, dimension=DIMENSION, fill=fill)
        assert await stores.names() == ("bank",)
        assert [m.id for m in await store.messages()] == ["m0", "m1"]
        assert await found(await store.search(probe(), Scope(), Weights()), "semantic", 9) != []
        assert await stores.open("bank", embedder=EMBEDDER, dimension=DIMENSION) is store

    async def test_a_bank_that_is_not_completed_does_not_exist(self, stores: Stores) -> None:
        async def fill(staged: Store) -> None:
            await staged.commit(changes_of([message(0)]))
            raise MessageConflict("half-way")

        with pytest.raises(MessageConflict, match="half-way"):
            await stores.create("bank", embedder=EMBEDDER, dimension=DIMENSION, fill=fill)
        assert await stores.names() == ()

    async def test_a_bank_that_exists_is_not_replaced(self, stores: Stores) -> None:
        async def fill(staged: Store) -> None:
            await staged.commit(changes_of([message(0)]))
            other = await stores.open("bank", embedder=EMBEDDER, dimension=DIMENSION)
            await other.commit(changes_of([message(1)]))

        for _ in range(2):
            with pytest.raises(BankExists):
                await stores.create("bank", embedder=EMBEDDER, dimension=DIMENSION, fill=fill)
            store = await stores.open("bank", embedder=EMBEDDER, dimension=DIMENSION)
            assert [m.id for m in await store.messages()] == ["m1"]

    async def test_an_empty_bank_is_filled_in_one_step(self, store: Store) -> None:
        await store.commit(Changeset(settings=(("tone", "warm"),)))
        changes = corpus(30)

        async def fill(staged: Store) -> None:
            await staged.commit(changes)
            assert await store.messages() == []

        assert await found(await store.search(probe(), Scope(), Weights()), "semantic", 9) == []
        await store.fill(fill)
        items = [entry.item for entry in changes.items]
        assert await store.items([item.id for item in items]) == items
        assert await store.setting("tone") == "warm"
        assert await found(await store.search(probe(), Scope(), Weights()), "semantic", 9) != []
        await store.commit(changes_of([message(1000)]))

    async def test_only_an_empty_bank_is_filled(self, store: Store) -> None:
        async def fail(staged: Store) -> None:
            await staged.commit(changes_of([message(0)]))
            raise MessageConflict("half-way")

        async def overtaken(staged: Store) -> None:
            await staged.commit(changes_of([message(0)]))
            await store.commit(changes_of([message(1)]))

        with pytest.raises(MessageConflict, match="half-way"):
            await store.fill(fail)
        assert await store.messages() == []
        for _ in range(2):
            with pytest.raises(InvalidInput, match="not empty"):
                await store.fill(overtaken)
            assert [m.id for m in await store.messages()] == ["m1"]

    async def test_messages_without_items_are_found(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1)]))
        assert await store.messages_without_items(10) == []
        said = [message(n) for n in (2, 3, 4)]
        await store.commit(replace(changes_of(said), items=(), links=(), mentions=()))
        await store.commit(changes_of([message(5)]))
        assert await store.messages_without_items(10) == said
        assert await store.messages_without_items(2) == said[:2]

    @pytest.mark.parametrize("part", ["link", "mention", "source", "origin", "vector"])
    async def test_a_commit_is_all_or_nothing(self, store: Store, part: str) -> None:
        await store.commit(changes_of([message(0)]))
        before = await dumped(store), (await store.look_up(["s1"], [])).version
        with pytest.raises(InvalidInput):
            await store.commit(broken(part))
        assert (await dumped(store), (await store.look_up(["s1"], [])).version) == before
        assert await found(await store.search(probe(), Scope(), Weights()), "semantic", 9) == ["turn:m0"]

    async def test_a_taken_message_id_is_a_conflict(self, store: Store) -> None:
        await store.commit(changes_of([message(0)]))
        with pytest.raises(MessageConflict):
            await store.commit(changes_of([message(1), message(0, text="other words")]))
        assert [m.text for m in await store.messages()] == ["message 0"]

    async def test_a_stale_write_is_refused(self, store: Store) -> None:
        seen = (await store.look_up([], [])).version
        await store.commit(changes_of([message(0)], expected_version=seen, author="me"))
        assert (await store.look_up([], [])).author == "me"
        with pytest.raises(StaleWrite):
            await store.commit(changes_of([message(1)], expected_version=seen))
        assert len(await store.messages()) == 1
        await store.commit(changes_of([message(1)], expected_version=(await store.look_up([], [])).version))

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

    async def test_an_item_put_again_has_its_new_label(self, store: Store) -> None:
        kept = indexed(message(0))
        for label in ("recurrence of 5", "pinned", ""):
            item = replace(kept.item, label=label)
            said = (message(0),) if label == "recurrence of 5" else ()
            await store.commit(changes_of(said, items=(replace(kept, item=item),)))
            assert await store.items([item.id]) == [item]

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

    async def test_items_are_read_by_kind_and_by_whom_they_mention(self, store: Store) -> None:
        changes = corpus(30)
        await store.commit(changes)
        facts = [e.item for e in reversed(changes.items) if e.item.kind is ItemKind.FACT]
        assert await store.items_of([ItemKind.FACT]) == facts
        assert await store.items_of([ItemKind.FACT], limit=2) == facts[:2]
        assert len(await store.items_of([ItemKind.FACT, ItemKind.TURN])) == 30
        assert await store.items_of([]) == await store.items_of([ItemKind.OPINION]) == []
        kinds = tuple(ItemKind)
        assert [item.id for item in await store.items_of(kinds, entity="e1")] == ["turn:m1", "turn:m0"]
        assert [item.id for item in await store.items_of(kinds, entity="e1", limit=1)] == ["turn:m1"]
        assert await store.items_of([ItemKind.OPINION], entity="e1") == await store.items_of(kinds, entity="e9") == []

    async def test_items_are_read_by_the_messages_they_came_from(self, store: Store) -> None:
        said = [message(n) for n in range(4)]
        both = replace(indexed(said[0], others=("m1",)), item=replace(indexed(said[0]).item, sources=("m1", "m0")))
        fact = replace(indexed(said[2]), item=replace(indexed(said[2]).item, id="fact", kind=ItemKind.FACT))
        await store.commit(changes_of(said, items=(both, indexed(said[2]), indexed(said[3]), fact)))
        kinds = (ItemKind.TURN, ItemKind.FACT)
        assert await store.items_from(["m2", "m1", "m0", "nothing"], kinds) == [
            both.item,
            indexed(said[2]).item,
            fact.item,
        ]
        assert await store.items_from(["m2"], [ItemKind.FACT]) == [fact.item]
        assert await store.items_from([], kinds) == await store.items_from(["m2"], []) == []
        await store.commit(Changeset(supersedes=(Supersession(item="fact", at=NOW),)))
        assert await store.items_from(["m2"], [ItemKind.FACT]) == []

    async def test_messages_are_read_by_what_they_stand_before(self, store: Store) -> None:
        said = [message(n, position=position) for n, position in enumerate((4, 2, 0, 7, 3))]
        await store.commit(changes_of([*said, message(9, session="s2", position=1)]))
        near = await store.adjacent_messages(["m1", "unknown"])
        around = [m for m in said if m.session == "s1" and abs(m.position - said[1].position) <= 1]
        assert sorted(m.id for m in near) == sorted(m.id for m in around)
        assert near == [m for m in await store.messages() if m in around]
        assert len(around) > 1
        assert await store.adjacent_messages([]) == []
        assert [m.id for m in await store.messages_before("s1", 7, 3)] == ["m1", "m4", "m0"]
        assert await store.messages_before("s1", 3, 9) == [said[2], said[1]]
        assert await store.messages_before("s1", 0, 9) == await store.messages_before("s1", 9, 0) == []
        assert await store.messages_before("nowhere", 9, 9) == []

    async def test_sessions_are_read_with_their_messages(self, store: Store) -> None:
        assert (await store.sessions(), await store.messages_of(["s1"])) == ([], [])
        later = T0 + timedelta(hours=1)
        said = [message(0), message(3, session="s2", position=0), message(1), message(4, session="s0", position=0)]
        started = [Session(id="s2", started=later), Session(id="s1", started=T0), Session(id="s0", started=later)]
        await store.commit(replace(changes_of(said), sessions=tuple(started)))
        assert await store.sessions() == [started[1], started[2], started[0]]
        assert [m.id for m in await store.messages_of(["s1", "nowhere"])] == ["m0", "m1"]
        assert await store.messages_of(["s2", "s1"]) == said[:3]
        assert await store.messages_of([]) == []
        await store.forget(ForgetSelection(sessions=("s1",)))
        assert [session.id for session in await store.sessions()] == ["s0", "s2"]
        assert await store.messages_of(["s1"]) == []

    async def test_entities_and_mentions_are_read(self, store: Store) -> None:
        changes = corpus(30)
        await store.commit(changes)
        assert tuple(await store.entities()) == changes.entities
        assert await store.entities(["e2", "e9"]) == [changes.entities[1]]
        expected = sorted(changes.mentions, key=lambda m: (m.item, m.entity))
        assert await store.mentions_of(["turn:m1", "turn:m0", "turn:m2", "nothing"]) == expected

    async def test_names_in_use_come_by_how_many_items_mention_them(self, store: Store) -> None:
        said = [message(n) for n in range(5)]
        kinds = (ItemKind.TURN, ItemKind.TURN, ItemKind.TURN, ItemKind.GIST, ItemKind.TURN)
        entries = [indexed(one) for one in said]
        items = tuple(
            replace(entry, item=replace(entry.item, kind=kind)) for entry, kind in zip(entries, kinds, strict=True)
        )
        names = {"e1": "Toby", "e2": "Ada", "e3": "Miso", "e4": "Bram", "e5": "Zoe"}
        entities = tuple(
            Entity(id=id_, name=name, kind=EntityKind.OTHER, first_seen=T0, last_seen=T0) for id_, name in names.items()
        )
        told = {"e1": "012", "e2": "01", "e3": "013", "e4": "333", "e5": "4"}
        mentions = tuple(
            Mention(entity=id_, item=f"turn:m{n}", surface=f"{names[id_]}{place}")
            for id_, places in told.items()
            for place, n in enumerate(places)
        )
        mentions += (
            Mention(entity="e2", item="turn:m0", surface="she"),
            Mention(entity="e2", item="turn:m1", surface="s"),
        )
        await store.commit(changes_of(said, items=items, entities=entities, mentions=mentions))
        turns = [ItemKind.TURN]
        first = {"Toby": ("m0",), "Ada": ("m0",), "Miso": ("m0",), "Zoe": ("m4",), "Bram": ("m3",)}

        def in_use(*wanted: str, **other: tuple[str, ...]) -> list[NameInUse]:
            return [NameInUse(name=name, messages=other.get(name, first[name])) for name in wanted]

        assert await store.names_in_use(turns) == in_use("Toby", "Ada", "Miso", "Zoe")
        assert await store.names_in_use([*turns, ItemKind.GIST], 2) == in_use("Miso", "Toby")
        assert await store.names_in_use([ItemKind.GIST]) == in_use("Bram", "Miso", Miso=("m3",))
        assert await store.names_in_use(turns, 0) == await store.names_in_use([]) == []
        await store.commit(Changeset(supersedes=(Supersession(item="turn:m4", at=NOW),)))
        assert await store.names_in_use(turns) == in_use("Toby", "Ada", "Miso")

    async def test_settings_are_kept(self, store: Store) -> None:
        assert await store.setting("profile") is None
        await store.commit(Changeset(settings=(("profile", "{}"), ("mood", "good"))))
        await store.commit(Changeset(settings=(("profile", '{"name": "Ada"}'),)))
        assert (await store.setting("profile"), await store.setting("mood")) == ('{"name": "Ada"}', "good")
        with pytest.raises(InvalidInput, match="embedder"):
            await store.commit(Changeset(settings=(("embedder", "mine"),)))

    async def test_what_was_superseded_is_found_as_of_then_and_read_for_ever(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1), message(2)]))
        later = indexed(message(3))
        supersedes = (Supersession(item="turn:m1", by="turn:m3", at=NOW), Supersession(item="turn:m2", at=NOW))
        with pytest.raises(InvalidInput, match="turn:m3"):
            await store.commit(Changeset(supersedes=supersedes))
        await store.commit(changes_of([message(3)], items=(later,), supersedes=supersedes))
        before = Scope(as_of=NOW - timedelta(microseconds=1))
        for arm in ("semantic", "lexical", "temporal"):
            for scope, there in (
                (Scope(), {"turn:m0", "turn:m3"}),
                (Scope(speakers=("Ada",)), {"turn:m0", "turn:m3"}),
                (Scope(as_of=NOW), {"turn:m0", "turn:m3"}),
                (before, {"turn:m0", "turn:m1", "turn:m2", "turn:m3"}),
            ):
                search = await store.search(probe(during=day()), scope, Weights())
                assert set(await found(search, arm, 9)) == there
        assert [[id_ for id_, _ in near] for near in await store.nearest(np.stack([unit(1)]), 1, 0.9)] == [[]]
        assert [item.superseded for item in await store.items(["turn:m0", "turn:m1"])] == [None, NOW]
        search = await store.search(probe(), before, Weights())
        assert {item.superseded for _, item in await search.load((await search.semantic(9)).refs)} == {None}
        assert [item.id for item in await store.items_of([ItemKind.TURN])] == ["turn:m3", "turn:m0"]
        assert len(await store.items_of([ItemKind.TURN], superseded=True)) == 4

    async def test_known_tells_where_sessions_end(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1), message(9, session="s2", position=0)]))
        known = await store.look_up(["s1", "s2", "new"], ["m0", "m8"])
        ends = {name: (end.messages, end.last and end.last.id) for name, end in known.session_ends.items()}
        assert ends == {"s1": (2, "turn:m1"), "s2": (1, "turn:m9"), "new": (0, None)}
        assert list(known.stored) == ["m0"]
        assert {item.id for item in known.recent_items} == {"turn:m0", "turn:m1", "turn:m9"}
        assert set(await store.speakers()) == {"Ada"}

    # The whole bank

    async def test_banks_are_walls(self, stores: Stores, store: Store) -> None:
        other = await stores.open("other", embedder=EMBEDDER, dimension=DIMENSION)
        await store.commit(changes_of([message(0, text="mine")]))
        await other.commit(changes_of([message(0, text="theirs", session="s9")]))
        assert [m.text for m in await store.messages()] == ["mine"]
        search = await other.search(probe(), Scope(), Weights())
        assert [item.text for _, item in await search.load((await search.semantic(9)).refs)] == ["theirs"]
        await store.forget(ForgetSelection(messages=("m0",)))
        assert [m.text for m in await other.messages()] == ["theirs"]
        await stores.drop("bank")
        assert await stores.names() == ("other",)
        assert [m.text for m in await other.messages()] == ["theirs"]

    async def test_a_dump_makes_the_same_bank_again(self, stores: Stores, store: Store) -> None:
        await store.commit(corpus())
        # An early item that is later remade from a newer one, like a merged episode.
        first = indexed(message(0, session="s0", position=0))
        await store.commit(Changeset(items=(replace(first, item=replace(first.item, derived_from=("turn:m89",))),)))
        replaced = Supersession(item="turn:m3", by="turn:m4", at=NOW)
        await store.commit(Changeset(supersedes=(replaced,), settings=(("profile", "{}"),)))
        copy = await stores.open("copy", embedder=EMBEDDER, dimension=DIMENSION)
        async for part in store.dump():
            await copy.commit(part)
        before, after = await dumped(store), await dumped(copy)
        assert len(before) == len(after)
        assert sorted(map(repr, before)) == sorted(map(repr, after))
        third = await stores.open("third", embedder=EMBEDDER, dimension=DIMENSION)
        async for part in copy.dump():
            await third.commit(part)
        assert await dumped(third) == after

    async def test_a_dump_is_of_one_moment(self, stores: Stores, store: Store) -> None:
        await store.commit(corpus(30))
        copy = await stores.open("copy", embedder=EMBEDDER, dimension=DIMENSION)
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

    async def test_vectors_of_items_that_are_gone_are_ignored(self, store: Store) -> None:
        changes = corpus(12)
        await store.commit(changes)
        vectors = [(entry.item.id, np.eye(8, dtype=np.float32)[0]) for entry in changes.items]
        await store.replace_vectors("other-8", 8, [*vectors, ("turn:gone", np.eye(8, dtype=np.float32)[0])])
        assert store.embedder == "other-8"

    async def test_items_after_a_version_are_those_that_were_written_since(self, store: Store) -> None:
        changes = corpus(12)
        await store.commit(changes)
        seen = await store.version()
        assert await store.items_after(seen) == []
        assert [item.id for item in await store.items_after(0)] == [entry.item.id for entry in changes.items]
        again = replace(changes.items[3], item=replace(changes.items[3].item, text="other words"))
        await store.commit(Changeset(items=(again,)))
        assert [(item.id, item.text) for item in await store.items_after(seen)] == [(again.item.id, "other words")]

    async def test_one_writer_at_a_time_has_the_turn(self, store: Store) -> None:
        order = []

        async def write(name: str) -> None:
            async with store.turn():
                order.append(f"{name} begins")
                await asyncio.sleep(0.01)
                order.append(f"{name} ends")

        await asyncio.gather(write("first"), write("second"), write("third"))
        assert [line.split()[1] for line in order] == ["begins", "ends"] * 3

    async def test_a_split_moves_mentions_and_remembers(self, store: Store) -> None:
        await store.commit(corpus(12))
        (merge,) = await store.merges()
        own = Entity(id="e3", name="A.", kind=EntityKind.PERSON, first_seen=T0, last_seen=T0)
        moved = [Mention(entity="e3", item="turn:m1", surface="A.")]
        await store.split_entity(replace(merge, undone=NOW), own, moved)
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
        assert info.links == len(changes.links) == sum(info.links_by_kind.values())
        assert info.links_by_kind["causal"] == sum(link.kind is LinkKind.CAUSAL for link in changes.links)
        assert (info.first, info.last) == (T0, T0 + timedelta(minutes=29))


class StoreContract(CoreContract, ForgettingContract, JobsContract, SegmentsContract, TriplesContract):
    """The whole contract: the core, forgetting, the queue, and segments and triples if the store declares them."""
