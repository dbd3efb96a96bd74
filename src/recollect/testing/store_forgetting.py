"""The part of the stores' contract about forgetting, and about jobs whose messages are forgotten."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import Entity, EntityKind, Mention
from recollect.domain.items import IndexedItem, ItemKind
from recollect.domain.jobs import Job, JobState
from recollect.domain.links import Link, LinkKind
from recollect.domain.queries import Scope
from recollect.domain.receipts import RemovedQuote
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Triple
from recollect.errors import LostLease, StaleWrite
from recollect.store.protocol import ForgetSelection, Store
from recollect.testing.store_jobs import MERGE, SOON, queued, running
from recollect.testing.store_material import (
    CLOSE,
    NOW,
    T0,
    changes_of,
    dumped,
    entities_of,
    found,
    indexed,
    message,
    probe,
    unit,
)


def derived(id_: str, kind: ItemKind, sources: tuple[str, ...], *origins: str) -> IndexedItem:
    """Return an item that came from messages and from other items."""
    entry = indexed(message(60), seed=60)
    return replace(entry, item=replace(entry.item, id=id_, kind=kind, sources=sources, derived_from=origins))


def given(id_: str, sources: tuple[str, ...], subject: str, mentioned: datetime) -> IndexedItem:
    """Return a fact that a user gave. Without sources it is independent of any message."""
    entry = derived(f"given:{id_}", ItemKind.TRIPLE, sources)
    triple = Triple(subject=subject, predicate="is", object="well")
    item = replace(entry.item, text=f"{subject} is well", session="", speaker="", mentioned=mentioned, triple=triple)
    return replace(entry, item=item)


class ForgettingContract:
    """The contract of forgetting."""

    async def test_forgetting_takes_everything_derived_along(self, store: Store) -> None:
        said = [message(0, text="the dog"), message(1), message(2, session="s2", position=0)]
        fact = replace(indexed(said[1], seed=50).item, id="fact", kind=ItemKind.FACT, derived_from=("turn:m0",))
        links = (Link(source="turn:m0", target="turn:m1", kind=LinkKind.CAUSAL, weight=1.0, label="causes"),)
        entry = IndexedItem(item=fact, vector=unit(50), terms=np.array([5], dtype=np.uint32))
        base = changes_of(said, links=links)
        entities = entities_of(["turn:m0", "turn:m0"])
        await store.commit(replace(base, items=(*base.items, entry), **entities))  # type: ignore[arg-type]
        receipt = await store.forget(ForgetSelection(messages=("m0",)))
        assert receipt.messages == ("m0",)
        numbers = (receipt.sessions, receipt.items, receipt.links, receipt.entities, receipt.mentions, receipt.jobs)
        assert numbers == (0, 2, 1, 2, 3, 0)
        assert (receipt.verified, receipt.leftovers) == (True, ())
        assert [m.id for m in await store.messages()] == ["m1", "m2"]
        assert await store.items(["turn:m0", "fact"]) == []
        tables = await store.entity_tables()
        assert (tables.entities, tables.aliases, await store.merges()) == ((), (), ())
        search = await store.search(probe(), Scope(), Weights())
        assert set(await found(search, "semantic", 9)) == {"turn:m1", "turn:m2"}

    async def test_what_is_left_of_a_turn_is_put_in_while_the_rest_goes(self, store: Store) -> None:
        said = [message(n) for n in range(4)]
        both, alone, later = indexed(said[0], others=("m1",)), indexed(said[2]), indexed(said[3])
        await store.commit(changes_of(said, items=(both, alone, later)))
        selection = ForgetSelection(messages=("m0", "m2"))
        plan = await store.plan_forget(selection)
        assert (plan.turns, plan.remaining) == ((both.item,), (said[1],))
        assert (await store.plan_forget(ForgetSelection(messages=("m2", "unknown")))).turns == ()
        with pytest.raises(StaleWrite):
            await store.forget(selection)
        own = Entity(id="e3", name="Ada", kind=EntityKind.PERSON, first_seen=T0, last_seen=NOW)
        remade = Changeset(
            expected_version=plan.version,
            items=(indexed(said[1]),),
            links=(
                Link(source="turn:m1", target="turn:m2", kind=LinkKind.SEMANTIC, weight=0.5),
                Link(source="turn:m1", target="turn:m3", kind=LinkKind.SEMANTIC, weight=0.5),
            ),
            entities=(own,),
            mentions=(Mention(entity="e3", item="turn:m1", surface="Ada"),),
        )
        await store.commit(changes_of([message(4)]))
        with pytest.raises(StaleWrite):
            await store.forget(selection, remade)
        assert len(await store.messages()) == 5
        receipt = await store.forget(
            selection, replace(remade, expected_version=(await store.plan_forget(selection)).version)
        )
        assert (receipt.messages, receipt.items, receipt.verified) == (("m0", "m2"), 2, True)
        links = [link async for part in store.dump() for link in part.links]
        assert links == [remade.links[1]]
        assert await store.entities() == [own]
        search = await store.search(probe(), Scope(), Weights())
        assert set(await found(search, "semantic", 9)) == {"turn:m1", "turn:m3", "turn:m4"}

    @pytest.mark.parametrize(
        ("selection", "left"),
        [
            (ForgetSelection(facts=("given:own", "given:told", "turn:m0")), {"given:late"}),
            (ForgetSelection(entities=("Rex",)), {"given:told", "given:late"}),
            (ForgetSelection(entities=("e9",)), {"given:told", "given:own"}),
            (
                ForgetSelection(during=Interval(start=None, end=T0, precision=Precision.RANGE)),
                {"given:told", "given:late"},
            ),
            (ForgetSelection(messages=("m0",)), {"given:own", "given:late"}),
            (ForgetSelection(speakers=("",), sessions=("",)), {"given:told", "given:own", "given:late"}),
        ],
    )
    async def test_a_given_fact_goes_with_its_sources_or_by_itself(
        self, store: Store, selection: ForgetSelection, left: set[str]
    ) -> None:
        early = T0 - timedelta(days=1)
        facts = (
            given("told", ("m0",), "Ada", early),
            given("own", (), "the dog Rex", early),
            given("late", (), "Leeds", NOW),
        )
        leeds = Entity(id="e9", name="Leeds", kind=EntityKind.LOCATION, first_seen=NOW, last_seen=NOW)
        base = changes_of([message(0)])
        named = Mention(entity="e9", item="given:late", surface="Leeds")
        changes = replace(base, items=(*base.items, *facts), entities=(leeds,), mentions=(named,))
        await store.commit(changes)
        plan = await store.plan_forget(selection)
        assert plan.to_reread == (), "a given fact was not read from its sources"
        receipt = await store.forget(selection, Changeset(expected_version=plan.version))
        assert (receipt.verified, receipt.leftovers) == (True, ())
        assert {item.id for item in await store.items_of([ItemKind.TRIPLE])} == left
        assert receipt.messages == selection.messages

    async def test_what_facts_were_given_of_a_message_does_not_make_it_read(self, store: Store) -> None:
        base = changes_of([message(0)])
        await store.commit(replace(base, items=(*base.items, given("told", ("m0",), "Ada", T0))))
        assert [one.id for one in await store.find_unread()] == ["m0"]

    async def test_a_torn_turn_may_keep_its_name(self, store: Store) -> None:
        said = [message(0), message(1)]
        both = indexed(said[0], others=("m1",))
        gist = replace(both, item=replace(both.item, id="gist", kind=ItemKind.GIST, derived_from=("turn:m0",)))
        await store.commit(changes_of(said, items=(both, gist)))
        plan = await store.plan_forget(ForgetSelection(messages=("m1",)))
        remade = Changeset(expected_version=plan.version, items=(indexed(said[0], seed=9),))
        receipt = await store.forget(ForgetSelection(messages=("m1",)), remade)
        assert receipt.items == 2
        assert await store.items(["turn:m0", "gist"]) == [remade.items[0].item]
        search = await store.search(probe(9), Scope(), Weights())
        assert (await search.semantic(9)).scores.tolist() == pytest.approx([1.0], abs=CLOSE)

    async def test_what_is_left_unread_is_told_and_queued_with_the_forgetting(self, store: Store) -> None:
        said = [message(n) for n in range(5)]
        # A fact of m0 and m1, opinions derived from it and from m3's fact, and a passage of m2's turn and m4.
        items = (
            *(indexed(one) for one in said),
            derived("both", ItemKind.FACT, ("m0", "m1")),
            derived("own", ItemKind.FACT, ("m3",)),
            derived("belief", ItemKind.OPINION, ("m0", "m1", "m3"), "both", "own"),
            derived("second thought", ItemKind.OPINION, ("m3",), "belief"),
            derived("passage", ItemKind.EPISODE, ("m4",), "turn:m2"),
        )
        await store.commit(changes_of(said, items=items))
        selection = ForgetSelection(messages=("m0", "m2"))
        plan = await store.plan_forget(selection)
        assert (plan.turns, plan.remaining, plan.to_reread) == ((), (), (said[1], said[4]))
        assert (await store.plan_forget(ForgetSelection(messages=("m3",)))).to_reread == ()
        again = Job(id="read", kind="read", payload="", messages=("m1", "m4"))
        late = Changeset(expected_version=plan.version - 1, jobs=(again,))
        with pytest.raises(StaleWrite):
            await store.forget(selection, late)
        assert await store.jobs() == []
        receipt = await store.forget(selection, replace(late, expected_version=plan.version))
        assert (receipt.items, receipt.jobs) == (6, 0)
        assert [(record.id, record.messages) for record in await store.jobs()] == [("read", ("m1", "m4"))]
        assert [item.id for item in await store.items_of(tuple(ItemKind), superseded=True)] == [
            "own",
            "turn:m4",
            "turn:m3",
            "turn:m1",
        ]

    @pytest.mark.parametrize(
        ("gone", "superseded"),
        [
            (["m3"], {"turn:m1": 2, "turn:m2": None}),
            (["m2"], {"turn:m1": 3, "turn:m3": None}),
            (["m2", "m3"], {"turn:m1": None}),
            (["m1"], {"turn:m2": 3, "turn:m3": None}),
        ],
    )
    async def test_what_took_the_place_of_another_gives_it_back(
        self, store: Store, gone: list[str], superseded: dict[str, int | None]
    ) -> None:
        """The item of m2 superseded that of m1, and the item of m3 superseded that of m2."""
        steps = [Supersession(item=f"turn:m{n}", by=f"turn:m{n + 1}", at=NOW + timedelta(days=n + 1)) for n in (1, 2)]
        await store.commit(changes_of([message(n) for n in range(4)], supersedes=tuple(steps)))
        await store.forget(ForgetSelection(messages=tuple(gone)))
        at = {id_: n and NOW + timedelta(days=n) for id_, n in superseded.items()}
        assert {item.id: item.superseded for item in await store.items(at)} == at
        search = await store.search(probe(), Scope(), Weights())
        assert set(await found(search, "semantic", 9)) == {"turn:m0", *(id_ for id_ in at if at[id_] is None)}

    @pytest.mark.parametrize(
        ("selection", "left"),
        [
            (ForgetSelection(sessions=("s1",)), {"m2"}),
            (ForgetSelection(speakers=("Ben",)), {"m0", "m2"}),
            (
                ForgetSelection(during=Interval(start=T0, end=T0 + timedelta(minutes=1), precision=Precision.RANGE)),
                {"m1", "m2"},
            ),
            (ForgetSelection(during=Interval(start=None, end=T0, precision=Precision.RANGE)), {"m0", "m1", "m2"}),
            (ForgetSelection(entities=("Paris",)), {"m1", "m2"}),
            (ForgetSelection(entities=("e1",)), {"m1", "m2"}),
            (ForgetSelection(messages=("m0",), speakers=("Ben",)), {"m2"}),
        ],
    )
    async def test_what_a_selection_means(self, store: Store, selection: ForgetSelection, left: set[str]) -> None:
        said = [message(0), message(1, speaker="Ben"), message(2, session="s2", position=0)]
        await store.commit(changes_of(said, **entities_of(["turn:m0", "turn:m0"])))
        receipt = await store.forget(selection)
        assert {m.id for m in await store.messages()} == left
        assert set(receipt.messages) == {"m0", "m1", "m2"} - left

    async def test_forgetting_nothing_is_a_receipt_of_zeros(self, store: Store) -> None:
        await store.commit(changes_of([message(0)]))
        before = await dumped(store)
        receipt = await store.forget(ForgetSelection(messages=("unknown",)))
        assert (receipt.messages, receipt.items, receipt.sessions, receipt.verified) == ((), 0, 0, True)
        assert await dumped(store) == before

    async def test_a_job_loses_the_messages_that_are_forgotten_and_goes_with_the_last(self, store: Store) -> None:
        about = {"run": ("m0", "m2"), "dead": ("m1", "m2"), "other": ("m3",), "lone": ("m0", "m1"), "none": ()}
        jobs = [replace(MERGE, id=id_, messages=messages) for id_, messages in about.items()]
        await store.commit(changes_of([message(n) for n in range(4)], jobs=tuple(jobs)))
        taken = {job.id: job for job in [await running(store) for _ in about]}
        for id_, retry_at in (("dead", None), ("other", SOON), ("lone", SOON), ("none", SOON)):
            await store.settle(taken[id_], error="no JSON: the dog", reply="the dog", retry_at=retry_at, now=NOW)
        receipt = await store.forget(ForgetSelection(messages=("m0", "m1")))
        assert (receipt.jobs, receipt.verified) == (3, True)
        kept = {record.id: record for record in await store.jobs()}
        assert {id_: record.messages for id_, record in kept.items()} == {
            "run": ("m2",),
            "dead": ("m2",),
            "other": ("m3",),
            "none": (),
        }
        assert {record.state for record in kept.values()} == {JobState.WAITING}
        for id_ in ("run", "dead"):  # the rest of such a job is another piece of work
            cut = kept[id_]
            assert (cut.attempts, cut.error, cut.failed, cut.worker) == (0, None, None, None)
        for id_ in ("other", "none"):
            assert (kept[id_].attempts, kept[id_].failed) == (1, NOW)
            assert "dog" not in (kept[id_].error or "dog")
        assert {record.reply for record in kept.values()} == {None}
        with pytest.raises(LostLease):  # results derived from forgotten words must not come back
            await store.commit(changes_of([message(5)], settled_job=taken["run"]))
        assert {(await running(store)).messages for _ in range(2)} == {("m2",)}
        assert (await store.forget(ForgetSelection(messages=("m2",)))).jobs == 2
        assert {record.id for record in await store.jobs()} == {"other", "none"}

    async def test_a_job_that_is_cut_while_it_runs_keeps_all_else_it_was_queued_for(self, store: Store) -> None:
        await store.commit(changes_of([message(n) for n in range(4)]))
        await queued(store, replace(MERGE, messages=("m0", "m1")))
        await running(store)
        await queued(store, replace(MERGE, payload="more", messages=("m2", "m3")))
        await store.forget(ForgetSelection(messages=("m0", "m3")))
        (record,) = await store.jobs()
        assert (record.state, record.messages) == (JobState.WAITING, ("m1", "m2"))
        again = await running(store)
        assert (again.payload, again.messages, again.attempts) == ("more", ("m1", "m2"), 1)
        await store.settle(again, now=NOW)
        assert await store.jobs() == []

    async def test_a_job_that_quotes_what_is_forgotten_is_dropped_whole(self, store: Store) -> None:
        said = [message(0, text="the secret of Zanzibar"), message(1, text="ok")]
        about = replace(MERGE, messages=("m0", "m1"))
        quoting = replace(about, id="j2", payload="sum up: the secret of Zanzibar, ok?")
        await store.commit(changes_of(said, jobs=(about, quoting)))
        receipt = await store.forget(ForgetSelection(messages=("m0",)))
        assert (receipt.jobs, receipt.verified) == (2, True)
        assert [(record.id, record.messages) for record in await store.jobs()] == [("j1", ("m1",))]

    async def test_what_quotes_a_forgotten_message_goes_with_it_whatever_it_cites(self, store: Store) -> None:
        said = [message(0, text="Zanzibar is where Balthazar hid the xylophone"), message(1)]
        clean, dirty = derived("clean", ItemKind.OPINION, ("m1",)), derived("dirty", ItemKind.OPINION, ("m1",))
        dirty = replace(dirty, item=replace(dirty.item, text="He HID the xylophone, in ZANZIBAR: balthazar hid it"))
        base = changes_of(said)
        quoting = replace(MERGE, id="j9", messages=("m1",), payload="where Balthazar hid")
        await store.commit(replace(base, items=(*base.items, clean, dirty), jobs=(quoting,)))
        selection = ForgetSelection(messages=("m0",))
        plan = await store.plan_forget(selection)
        assert plan.to_reread == (said[1],)
        assert said[0].text in plan.texts
        told = await store.preview_forget(selection)
        assert (told.messages, told.items, told.jobs, told.dry_run) == (("m0",), 2, 1, True)
        assert len(await store.messages()) == 2
        receipt = await store.forget(selection)
        assert (receipt.items, receipt.jobs, receipt.verified) == (2, 1, True)
        assert (
            receipt.quotes
            == told.quotes
            == (RemovedQuote(kind="opinion", id="dirty"), RemovedQuote(kind="job", id="j9"))
        )
        assert [item.id for item in await store.items_of([ItemKind.OPINION])] == ["clean"]
        assert await store.jobs() == []

    async def test_a_name_is_forgotten_however_it_is_spelled(self, store: Store) -> None:
        texts = ("Toby came", "i saw toby's bowl", "TOBY!", "TobyBoy99 is a login", "October")
        said = [message(n, text=text) for n, text in enumerate(texts)]
        await store.commit(changes_of(said))
        receipt = await store.forget(ForgetSelection(entities=("toby",)))
        assert (receipt.messages, receipt.possible) == (("m0", "m1", "m2"), ("m3",))
