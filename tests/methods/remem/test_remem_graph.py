"""The edges between gists: how alike they must be, how many there are, and what else is not among them."""

from itertools import combinations

import numpy as np
import pytest
from indexing_bank import AT, NOW, Pointing, edges, held, opened, recipe, reply, said

from recollect import Message
from recollect.domain.items import Item, ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.methods.remem.extraction_replies import ExtractedGists
from recollect.methods.remem.graph import make_context_links
from recollect.store.commit_retry import derive_changes
from recollect.testing.models import FunctionModel


def item(id_, *sources):
    return Item(
        id=id_, kind=ItemKind.GIST, text=id_, session="s", speaker="Ada", sources=sources, mentioned=AT, recorded=NOW
    )


def test_context_edges_are_heavier_where_a_message_is_shared():
    gists, triples = [item("g1", "m1", "m2"), item("g2", "m3")], [item("t1", "m2"), item("t2", "m4", "m3")]
    assert list(make_context_links(gists, triples)) == [
        Link(source="g1", target="t1", kind=LinkKind.CONTEXT, weight=1.0),
        Link(source="g1", target="t2", kind=LinkKind.CONTEXT, weight=0.5),
        Link(source="g2", target="t1", kind=LinkKind.CONTEXT, weight=0.5),
        Link(source="g2", target="t2", kind=LinkKind.CONTEXT, weight=1.0),
    ]
    assert list(make_context_links(gists, [])) == []


VECTORS = {"Oak": (1.0, 0.0), "Ash": (0.8, 0.6), "Elm": (0.798, 0.6026574), "Yew": (0.0, 0.0, 1.0)}


@pytest.mark.parametrize("together", [True, False])
async def test_gists_as_alike_as_the_threshold_are_joined_and_others_are_not(together):
    """0.8 is enough, whether the other one is in the bank or in the same reading; 0.798 is not."""
    async with opened(embedder=Pointing(VECTORS), recipe=recipe(theta_syn=0.8, chunk_tokens=30)) as memory:
        bank = await memory.bank("bank")
        texts = ["Oak trees stand.", "Ash trees fall.", "Yew trees grow."]
        if together:
            await bank.retain(said(*texts), session="s", wait=True)
        else:
            for message in said(*texts):
                await bank.retain(message, session="s", wait=True)
        found = await edges(bank, LinkKind.SYNONYMY)
        assert found == {("Ash trees fall.", "Oak trees stand."): pytest.approx(0.8, abs=5e-4)}
    async with opened(embedder=Pointing(VECTORS), recipe=recipe(theta_syn=0.8, chunk_tokens=30)) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Oak trees stand.", "Elm trees burn."), session="s", wait=True)
        assert await edges(bank, LinkKind.SYNONYMY) == {}


async def test_synonyms_are_found_across_sessions_the_most_alike_first():
    vectors = {f"tree{n}": (1.0 - n / 100, (1 - (1.0 - n / 100) ** 2) ** 0.5) for n in range(6)}
    async with opened(embedder=Pointing(vectors), recipe=recipe(synonyms=2)) as memory:
        bank = await memory.bank("bank")
        for n in (5, 3, 1, 0):
            await bank.retain(said(f"A tree{n} stands.", first=n), session=f"s{n}", wait=True)
        found = await edges(bank, LinkKind.SYNONYMY)
        assert {other for one, other in found if one == "A tree0 stands."} == {"A tree1 stands.", "A tree3 stands."}
        assert len(found) == 1 + 2 + 2


async def test_gists_are_alike_with_gists_alone():
    """The turn and the triple of a gist say the same; they are joined to it in other ways."""
    async with opened(recipe=recipe(theta_syn=0.1)) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby sleeps here."), session="s", wait=True)
        assert await edges(bank, LinkKind.SYNONYMY) == {}
        assert len(await edges(bank, LinkKind.CONTEXT)) == 1


async def test_what_is_replaced_or_forgotten_is_nobodys_synonym():
    same = "Toby sleeps here."
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(same), session="s", wait=True)
        await bank.retain(said(same, first=1), session="t", wait=True)
        assert list(await edges(bank, LinkKind.SYNONYMY)) == [(same, same)]
        indexer = bank._method(None).consolidators[0]
        (job,) = [one for one in _causes(indexer, await bank.messages()) if one.payload == "t"]
        derive = await indexer.consolidate(job, bank._store, NOW)
        changes = await derive_changes(bank._store, derive)
        await bank._store.commit(changes)
        (link,) = [one for one in changes.links if one.kind is LinkKind.SYNONYMY]
        assert link.source != link.target
        assert len(await edges(bank, LinkKind.SYNONYMY)) == 1
        await bank.forget(messages="m0")
        assert await edges(bank, LinkKind.SYNONYMY) == {}
        assert await held(bank, ItemKind.GIST) == {same: ("m1",)}


def _causes(indexer, messages):
    from recollect.domain.changes import Changeset

    return indexer.plan_jobs(Changeset(messages=tuple(messages)), NOW)


async def test_a_bank_that_has_moved_on_is_met_again():
    """What came in between is found when the changes are derived anew, without asking the model again."""
    model = FunctionModel(reply)
    async with opened(model=model) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby sleeps here."), session="s")
        indexer = bank._method(None).consolidators[0]
        (job,) = _causes(indexer, await bank.messages())
        derive = await indexer.consolidate(job, bank._store, NOW)
        assert not [
            link for link in (await derive_changes(bank._store, derive)).links if link.kind is LinkKind.SYNONYMY
        ]
        asked = len(model.prompts)
        other = Message(id="x", text="Toby sleeps here.", speaker="Ada", at=AT)
        await bank.retain(other, session="t")
        (job,) = [one for one in _causes(indexer, await bank.messages()) if one.payload == "t"]
        await bank._store.commit(await derive_changes(bank._store, await indexer.consolidate(job, bank._store, NOW)))
        asked = len(model.prompts)
        changes = await derive_changes(bank._store, derive)
        assert len([link for link in changes.links if link.kind is LinkKind.SYNONYMY]) == 1
        assert len(model.prompts) == asked
        assert changes.expected_version == (await bank._store.look_up([], [])).version


async def test_no_gists_no_edges():
    def answer(prompt, answer_type):
        return ExtractedGists(gists=()) if answer_type is ExtractedGists else reply(prompt, answer_type)

    async with opened(model=FunctionModel(answer)) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby sleeps here."), session="s", wait=True)
        assert await held(bank, ItemKind.TRIPLE) == {"Toby told sleeps here.": ("m0",)}
        assert await edges(bank, LinkKind.CONTEXT) == {} == await edges(bank, LinkKind.SYNONYMY)


async def test_without_synonyms_there_are_none():
    async with opened(recipe=recipe(synonyms=0)) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby sleeps here.", "Toby sleeps here."), session="s", wait=True)
        assert await edges(bank, LinkKind.SYNONYMY) == {}


async def test_edges_are_those_of_all_pairs_however_many_gists_come_at_once():
    rng = np.random.default_rng(3)
    vectors = {f"tree{n:02}": tuple(rng.normal(size=3)) for n in range(30)}
    async with opened(embedder=Pointing(vectors), recipe=recipe(theta_syn=0.6, synonyms=30)) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(*(f"A {name} stands." for name in vectors)), session="s", wait=True)
        found = await edges(bank, LinkKind.SYNONYMY)
    kept = {f"A {name} stands.": np.array(one).astype(np.float16).astype(float) for name, one in vectors.items()}
    expected = {
        (later, earlier): float(kept[later] @ kept[earlier])
        for earlier, later in combinations(kept, 2)
        if kept[later] @ kept[earlier] >= 0.6 - 5e-4
    }
    assert found.keys() == expected.keys()
    assert found == {pair: pytest.approx(min(cosine, 1.0), abs=1e-5) for pair, cosine in expected.items()}
