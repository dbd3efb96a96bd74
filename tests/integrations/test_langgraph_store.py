"""A bank as a LangGraph store: what LangGraph's own tests ask of its in-memory store, and what a bank does besides."""

import asyncio

import pytest

pytest.importorskip("langgraph")

from foreign_memories import NOW
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from recollect import Memory, Message, sync
from recollect.domain.messages import Role
from recollect.errors import InvalidInput, RecollectError
from recollect.integrations.langgraph import BankStore
from recollect.integrations.langgraph.store_items import matches_filter
from recollect.memory.bank import Bank
from recollect.testing.models import HashEmbedder


@pytest.fixture
async def bank():
    async with Memory.open(":memory:", embedder=HashEmbedder(), model="none", clock=lambda: NOW) as memory:
        yield await memory.bank("ada")


@pytest.fixture
async def store(bank):
    return BankStore(bank)


def places(items):
    return [(item.namespace, item.key) for item in items]


async def test_what_is_not_below_a_prefix_is_not_read(bank, store, monkeypatch):
    await store.aput(("users", "ada"), "food", {"likes": "rye"})
    await store.aput(("users", "bram"), "food", {"likes": "wheat"})
    await bank.retain(Message(text="It rains.", at=NOW), session="weather")
    read = []

    async def messages(ids=None):
        assert ids is not None, "all messages are read"
        read.extend(ids)
        return await Bank.messages(bank, ids)

    monkeypatch.setattr(bank, "messages", messages)
    assert await store.alist_namespaces(prefix=("users",)) == [("users", "ada"), ("users", "bram")]
    found = await store.asearch(("users",))
    assert places(found) == [(("users", "ada"), "food"), (("users", "bram"), "food")]
    assert places(await store.asearch(("users", "bram"), query="wheat")) == [(("users", "bram"), "food")]
    assert await store.asearch(("nobody",)) == await store.asearch(("nobody",), query="wheat") == []
    assert read == ["users.bram..0/food"]


async def test_put_get_replace_delete(store):
    assert await store.aget(("users", "ada"), "food") is None
    await store.aput(("users", "ada"), "food", {"likes": ["rye"], "very": True, "how": {"much": 1.5}})
    item = await store.aget(("users", "ada"), "food")
    assert (item.namespace, item.key) == (("users", "ada"), "food")
    assert item.value == {"likes": ["rye"], "very": True, "how": {"much": 1.5}}
    assert item.created_at == item.updated_at == NOW
    await store.aput(("users", "ada"), "food", {"likes": ["wheat"]})
    assert (await store.aget(("users", "ada"), "food")).value == {"likes": ["wheat"]}
    await store.adelete(("users", "ada"), "food")
    assert await store.aget(("users", "ada"), "food") is None
    await store.adelete(("users", "ada"), "food")


async def test_an_item_belongs_to_its_namespace(store):
    await store.aput(("a",), "k", {"n": 1})
    await store.aput(("a", "b"), "k", {"n": 2})
    await store.aput(("a", "b", "k"), "k", {"n": 3})
    assert [(await store.aget(where, "k")).value["n"] for where in (("a",), ("a", "b"), ("a", "b", "k"))] == [1, 2, 3]
    assert await store.aget(("a",), "b/k") is None
    assert await store.aget(("b",), "k") is None


async def test_what_was_replaced_is_found_no_more(bank, store):
    await store.aput(("notes",), "k", {"text": "The harbour is closed."})
    await store.aput(("notes",), "k", {"text": "The bakery is open."})
    assert "harbour" not in "".join([line async for line in bank.export()])
    (item,) = await store.asearch(("notes",), query="harbour")
    assert item.value == {"text": "The bakery is open."}
    await store.adelete(("notes",), "k")
    assert (await bank.info()).messages == 0


async def test_putting_the_same_again_writes_nothing(bank, store):
    await store.aput(("notes",), "k", {"text": "Rye."})
    before = [line async for line in bank.export()]
    await store.aput(("notes",), "k", {"text": "Rye."})
    assert [line async for line in bank.export()] == before


async def test_a_batch_gives_results_in_order_and_reads_before_it_writes(store):
    await store.aput(("a",), "k", {"n": 1})
    results = await store.abatch(
        [
            PutOp(("a",), "k", {"n": 2}),
            GetOp(("a",), "k"),
            PutOp(("a",), "new", {"n": 3}),
            SearchOp(("a",)),
            ListNamespacesOp(),
            PutOp(("a",), "k", {"n": 4}),
            PutOp(("b",), "k", {"n": 5}),
            GetOp(("a",), "new"),
        ]
    )
    assert [results[at] for at in (0, 2, 5, 6, 7)] == [None] * 5
    assert results[1].value == {"n": 1}
    assert places(results[3]) == [(("a",), "k")]
    assert results[4] == [("a",)]
    assert {item.key: item.value["n"] for item in await store.asearch(("a",))} == {"k": 4, "new": 3}
    assert (await store.aget(("b",), "k")).value == {"n": 5}


async def test_a_batch_can_put_and_delete_at_once(store):
    await store.aput(("a",), "old", {"n": 1})
    await store.abatch([PutOp(("a",), "old", None), PutOp(("a",), "new", {"n": 2}), PutOp(("a",), "brief", {"n": 3}),
                        PutOp(("a",), "brief", None)])  # fmt: skip
    assert places(await store.asearch(("a",))) == [(("a",), "new")]


async def test_search_with_a_filter_limit_and_offset(store):
    for at in range(6):
        await store.aput(("docs", str(at % 2)), f"k{at}", {"kind": "ab"[at % 2], "n": at, "in": {"x": at, "y": 1}})
    assert [item.key for item in await store.asearch(("docs",), limit=3)] == ["k0", "k1", "k2"]
    assert [item.key for item in await store.asearch(("docs",), limit=3, offset=4)] == ["k4", "k5"]
    assert [item.key for item in await store.asearch(("docs", "1"))] == ["k1", "k3", "k5"]
    assert [item.key for item in await store.asearch((), filter={"kind": "a"}, limit=2)] == ["k0", "k2"]
    assert [item.key for item in await store.asearch((), filter={"n": {"$gt": 1, "$lte": 4}})] == ["k2", "k3", "k4"]
    assert [item.key for item in await store.asearch((), filter={"in": {"x": 3}, "kind": {"$ne": "a"}})] == ["k3"]
    assert await store.asearch(("doc",)) == []
    assert [item.score for item in await store.asearch(("docs",), limit=1)] == [None]


async def test_search_with_a_query_ranks(store):
    for at, text in enumerate(("Bram bakes rye bread.", "The cat sleeps.", "We walked along the river.", "Bread!")):
        await store.aput(("notes", f"n{at % 2}"), f"k{at}", {"text": text, "odd": at % 2 == 1})
    await store.aput(("other",), "k", {"text": "Bread, bread, bread."})
    found = await store.asearch(("notes",), query="Who bakes bread?", limit=2)
    assert [item.key for item in found][:1] == ["k0"]
    assert found[0].score >= found[1].score
    assert (found[0].value, found[0].namespace) == ({"text": "Bram bakes rye bread.", "odd": False}, ("notes", "n0"))
    everything = [item.key for item in await store.asearch(("notes",), query="Who bakes bread?")]
    assert sorted(everything) == ["k0", "k1", "k2", "k3"]
    assert [item.key for item in await store.asearch(("notes",), query="Who bakes bread?", offset=1, limit=2)] == (
        everything[1:3]
    )
    odd = await store.asearch(("notes",), query="Who bakes bread?", filter={"odd": True}, limit=2)
    assert sorted(item.key for item in odd) == ["k1", "k3"]
    assert await store.asearch(("notes",), query="bread", limit=0) == []
    assert await store.asearch(("nowhere",), query="bread") == []


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "123"),
    ("users", "456", "settings"),
]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prefix": ("a", "b")},
        {"prefix": ("a", "*", "f")},
        {"suffix": ("f",)},
        {"suffix": ("b", "*")},
        {"prefix": ("a",), "suffix": ("f",)},
        {"prefix": ("a", "b"), "max_depth": 3},
        {"max_depth": 1},
        {"limit": 3, "offset": 2},
        {"prefix": ("a", "b", "c", "d", "e", "f")},
        {"prefix": ("users",), "max_depth": 2, "limit": 1},
        {"prefix": ("none",)},
    ],
)
async def test_namespaces_are_listed_as_langgraphs_own_store_lists_them(store, asked):
    theirs = InMemoryStore()
    for namespace in NAMESPACES:
        await store.aput(namespace, "k", {"n": 1})
        theirs.put(namespace, "k", {"n": 1})
    assert await store.alist_namespaces(**asked) == theirs.list_namespaces(**asked)


async def test_a_namespace_is_gone_with_its_last_item(store):
    await store.aput(("a",), "k", {"n": 1})
    await store.adelete(("a",), "k")
    assert await store.alist_namespaces() == []


LABELS = st.sampled_from(["a", "b", "c d", "a/a", "*"])
KEYS = st.sampled_from(["k", "a/k", "c d/a/k", "é", ".1", "./1"])
VALUES = st.dictionaries(
    st.sampled_from(["text", "n", "deep"]),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=2)),
    max_size=3,
)
PLACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
WANTED = st.tuples(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PLACES))
OPS = st.one_of(
    st.tuples(PLACES, KEYS, st.none() | VALUES).map(lambda given: PutOp(*given)),
    st.tuples(PLACES, KEYS).map(lambda given: GetOp(*given)),
    st.tuples(st.lists(LABELS, max_size=2).map(tuple), st.none() | st.just({"n": 1})).map(
        lambda given: SearchOp(*given)
    ),
    (st.none() | WANTED).map(lambda given: ListNamespacesOp(given)),
)


def told(result):
    if isinstance(result, list):
        return sorted(map(told, result), key=repr)
    return result if result is None or isinstance(result, tuple) else (result.namespace, result.key, result.value)


@settings(max_examples=20, phases=[Phase.explicit, Phase.generate])
@given(batches=st.lists(st.lists(OPS, max_size=6), max_size=6))
def test_batches_do_what_they_do_in_langgraphs_own_store(batches):
    async def run():
        theirs = InMemoryStore()
        async with Memory.open(":memory:", embedder=HashEmbedder(), model="none", clock=lambda: NOW) as memory:
            store = BankStore(await memory.bank("ada"))
            for ops in batches:
                ours = await store.abatch(ops)
                held = {name for name, items in theirs._data.items() if items}
                others = theirs.batch(ops)
                for op, one, other in zip(ops, ours, others, strict=True):
                    if isinstance(op, ListNamespacesOp):  # theirs lists namespaces that hold nothing any more
                        other = [name for name in other if name in held]
                    assert told(one) == told(other), op

    asyncio.run(run())


async def test_what_was_said_is_there_under_its_id(bank, store):
    await bank.retain(
        [
            Message(id="m1", text="Which bread do you bake?", speaker="Ada", at=NOW),
            Message(id="m2", text="Rye.", speaker="Bram", role=Role.ASSISTANT, at=NOW),
        ],
        session="2024-07-20",
    )
    await store.aput(("2024-07-20",), "k", {"text": "rye"})
    item = await store.aget(("2024-07-20",), "m1")
    assert item.value == {"text": "Which bread do you bake?", "speaker": "Ada", "at": NOW.isoformat()}
    assert await store.aget(("2024-07-21",), "m1") is None
    assert [item.key for item in await store.asearch(("2024-07-20",))] == ["m1", "m2", "k"]
    assert [item.key for item in await store.asearch((), query="bread", limit=1)] == ["m1"]
    assert {item.key for item in await store.asearch((), query="bread")} == {"m1", "m2", "k"}
    await store.aput(("2024-07-20",), "m1", {"text": "other"})
    assert (await store.aget(("2024-07-20",), "m1")).value == {"text": "other"}
    await store.adelete(("2024-07-20",), "m2")
    assert sorted(message.text for message in await bank.messages()) == ['{"text": "other"}', '{"text": "rye"}']


async def test_what_is_put_is_recalled_like_anything_else(bank):
    await BankStore(bank, speaker="Ada").aput(("notes",), "k", {"text": "Toby eats tuna."})
    (evidence,) = (await bank.recall("What does Toby eat?", speakers="Ada")).evidence
    assert (evidence.text, evidence.session, evidence.sources) == (
        '{"text": "Toby eats tuna."}',
        "notes",
        ("notes..0/k",),
    )


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (PutOp((), "k", {"n": 1}), InvalidNamespaceError),
        (PutOp(("a.b",), "k", {"n": 1}), InvalidNamespaceError),
        (PutOp(("a", ""), "k", {"n": 1}), InvalidNamespaceError),
        (GetOp(("a.b",), "k"), InvalidNamespaceError),
        (SearchOp(("a.b",)), InvalidNamespaceError),
        (PutOp(("a",), "k", {"n": {1, 2}}), InvalidInput),
        (PutOp(("a",), "k", {"n": 1}, index=False), InvalidInput),
        (PutOp(("a",), "k", {"n": 1}, index=["n"]), InvalidInput),
        (PutOp(("a",), "k", {"n": 1}, ttl=5.0), InvalidInput),
        (SearchOp(("a",), {"n": {"$in": [1]}}), InvalidInput),
        (ListNamespacesOp((MatchCondition("infix", ("a",)),)), InvalidInput),
        ("nothing", ValueError),
    ],
)
async def test_what_cannot_be_done_is_refused_and_nothing_is_written(store, op, error):
    await store.aput(("a",), "old", {"n": 1})
    with pytest.raises(error):
        await store.abatch([PutOp(("a",), "new", {"n": 2}), op])
    assert places(await store.asearch(())) == [(("a",), "old")]


@pytest.mark.parametrize(
    ("value", "wanted", "same"),
    [
        (1, 1, True),
        ("x", "y", False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1], False),
        ({"a": 1, "b": 2}, {"a": 1}, True),
        (3, {"a": 1}, False),
        (2, {"$gte": 2, "$lt": 3}, True),
        ("2", {"$gt": 1}, True),
        ("two", {"$gt": 1}, False),
        (None, {"$lte": 1}, False),
        (None, {"$ne": 1}, True),
        (1, {"$eq": 1}, True),
    ],
)
def test_filters(value, wanted, same):
    assert matches_filter(value, wanted) is same


class State(TypedDict):
    said: str
    found: list[str]


def remembering():
    """A graph whose nodes put and search in the store that it was compiled with."""

    async def keep(state: State, *, store: BaseStore):
        await store.aput(("user", "ada"), state["said"][:4], {"text": state["said"]})

    async def look(state: State, *, store: BaseStore):
        items = await store.asearch(("user",), query=state["said"], limit=2)
        return {"found": [item.value["text"] for item in items]}

    graph = StateGraph(State)
    graph.add_node("keep", keep)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.add_edge("look", "keep")
    graph.add_edge("keep", END)
    return graph


async def test_a_graph_remembers_with_it(bank, store):
    graph = remembering().compile(store=store)
    assert (await graph.ainvoke({"said": "The cat is grey."}))["found"] == []
    assert (await graph.ainvoke({"said": "What colour is the cat?"}))["found"] == ["The cat is grey."]
    assert (await bank.info()).messages == 2


async def test_an_asynchronous_bank_waits_for_threads_but_not_for_its_own_loop(store):
    await asyncio.to_thread(store.put, ("a",), "k", {"n": 1})
    assert (await asyncio.to_thread(store.get, ("a",), "k")).value == {"n": 1}
    with pytest.raises(RecollectError, match="await the asynchronous method"):
        store.get(("a",), "k")


def test_a_bank_that_waits_works_with_and_without_a_loop():
    with sync.Memory.open(":memory:", embedder=HashEmbedder(), model="none") as memory:
        store = BankStore(memory.bank("ada"))
        store.put(("a",), "k", {"text": "Rye."})
        assert store.get(("a",), "k").value == {"text": "Rye."}
        assert places(store.search(("a",), query="rye")) == [(("a",), "k")]
        assert store.list_namespaces() == [("a",)]
        assert asyncio.run(store.aget(("a",), "k")).value == {"text": "Rye."}
        store.delete(("a",), "k")
        assert asyncio.run(store.asearch(())) == []


class Cut(Exception):
    """What breaks a put in between."""


@pytest.mark.parametrize("broken", ["retain", "forget"])
async def test_a_put_that_breaks_in_between_loses_neither_value(bank, store, monkeypatch, broken):
    async def breaking(*args, **kwargs):
        raise Cut

    await store.aput(("a",), "k", {"n": 1})
    with monkeypatch.context() as patched:
        patched.setattr(bank, broken, breaking)
        with pytest.raises(Cut):
            await store.aput(("a",), "k", {"n": 2})
    held = {"retain": 1, "forget": 2}[broken]
    assert (await store.aget(("a",), "k")).value == {"n": held}
    for again in (2, 3, 2):
        await store.aput(("a",), "k", {"n": again})
        assert (await store.aget(("a",), "k")).value == {"n": again}
        assert (await bank.info()).messages == 1


async def test_a_value_that_cannot_be_kept_leaves_the_old_one(store):
    await store.aput(("a",), "k", {"n": 1})
    with pytest.raises(InvalidInput, match="lone surrogate"):
        await store.aput(("a",), "k", {"n": "\ud800"})
    assert (await store.aget(("a",), "k")).value == {"n": 1}


async def test_no_two_items_share_a_message(store):
    places = [
        (("a",), "b/c"),
        (("a/b",), "c"),
        (("a", "b"), "c"),
        (("a",), ".b/c"),
        (("a",), "./b/c"),
        (("a", "0"), "c"),
    ]
    for at, (namespace, key) in enumerate(places):
        await store.aput(namespace, key, {"n": at})
    assert [(await store.aget(*place)).value["n"] for place in places] == list(range(len(places)))


async def test_many_writers_at_once_lose_nothing(store):
    await asyncio.gather(*(store.aput(("a",), f"k{at % 5}", {"n": at}) for at in range(20)))
    items = {item.key: item.value["n"] for item in await store.asearch(("a",))}
    assert items.keys() == {f"k{at}" for at in range(5)}
    assert set(items.values()) <= set(range(20))
