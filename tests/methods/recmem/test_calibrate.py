"""The threshold from a bank's own similarities: by hand, over a bank, and from then on."""

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from recmem_bank import AT, NOW, Compass, opened, operations, reply, said

from recollect import Memory, sync
from recollect.domain.changes import Changeset
from recollect.errors import InvalidInput
from recollect.methods.recmem.calibration import (
    KEY,
    choose_recurrence,
    choose_threshold,
    compute_share,
    compute_similarities,
    load_unit_vectors,
    read_threshold,
)
from recollect.methods.recmem.settings import CASUAL, RECURRENCE, ConsolidateSettings, Recurrence
from recollect.testing.models import FunctionModel


def at(*degrees):
    radians = np.radians(np.array(degrees, dtype=np.float32))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def cos(degrees):
    return pytest.approx(np.cos(np.radians(degrees)), abs=1e-6)


async def test_of_a_message_in_several_passages_the_first_is_the_unit():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("a@0 " + "word " * 1500 + "b@0 " + "word " * 1500, "c@0 short"))
        assert len(await bank.items("turn")) == 4
        vectors = await load_unit_vectors(bank._store)
        assert np.allclose(vectors, await Compass().embed(["a@0", "c@0"]), atol=1e-3)


def test_each_unit_with_the_second_nearest_before_it():
    """0, 10, 30, 90: the third has 30 and 20 before it, the fourth 90, 80 and 60."""
    found = compute_similarities(at(0, 10, 30, 90), 2)
    assert found.tolist() == [cos(30), cos(80)]


def test_the_nearest_before_it_and_nothing_after():
    assert compute_similarities(at(0, 50, 51), 1).tolist() == [cos(50), cos(1)]
    assert compute_similarities(at(0, 50), 2).tolist() == []


def test_blocks_make_no_difference():
    vectors = at(*np.linspace(0, 3000, 1203))
    found = compute_similarities(vectors, 5)
    for n in (5, 499, 505, 1000, 1202):
        assert found[n - 5] == pytest.approx(np.sort(vectors[:n] @ vectors[n])[-5], abs=1e-6)


def test_the_threshold_is_the_quantile_above_which_the_share_lies():
    reached = np.arange(0, 1.01, 0.1, dtype=np.float32)  # 0, 0.1 ... 1
    assert choose_threshold(reached, 0.2) == 0.8
    assert choose_threshold(np.array([0.2, 0.61239, 0.61239, 0.9], dtype=np.float32), 0.5) == 0.612, (
        "never above what is reached"
    )
    assert compute_share(reached, 0.8, 20) == 0.15, "3 of 20: those that have too few before them do not recur"
    assert compute_share(np.zeros(0, dtype=np.float32), 0.8, 0) == 0.0


async def filled(bank, count=60):
    """Pairs of units in one direction, each pair 6 degrees from the last: the first of a pair is 0.9945 like what was
    before it, the second 1."""
    await bank.retain(said(*(f"a@{6 * (n // 2)} unit" for n in range(count))), session="s")


async def test_it_says_what_it_did_and_the_bank_goes_by_it():
    async with opened(FunctionModel(reply), recurrence=None) as memory:
        bank = await memory.bank("bank")
        await filled(bank)
        tried = await bank.calibrate(share=0.9, theta_count=1, apply=False)
        assert not tried.stored
        assert await read_threshold(bank._store) is None
        found = await bank.calibrate(share=0.9, theta_count=1)
        assert found.stored
        assert (found.embedder, found.units, found.theta_count) == ("compass", 60, 1)
        assert (found.before, found.after) == (CASUAL.theta_sim, tried.after)
        assert found.after == 0.994
        assert found.share_after == pytest.approx(59 / 60, abs=1e-3)
        assert found.share_before > 0.9, "0.7 is little where all lie in one plane"
        assert [one.share for one in found.quantiles] == [0.5, 0.75, 0.9, 0.95, 0.99]
        assert [one.similarity for one in found.quantiles] == [1.0] * 5
        kept = json.loads(await bank._store.setting(KEY))
        assert (kept["embedder"], kept["theta_sim"], kept["theta_count"]) == ("compass", found.after, 1)
        assert (kept["share"], kept["units"], kept["at"]) == (0.9, 60, NOW.isoformat())
        recurrence = await choose_recurrence(bank._store, ConsolidateSettings())
        assert (recurrence.theta_sim, recurrence.theta_count, recurrence.k) == (found.after, 1, 20)
        again = await bank.calibrate(share=0.9, theta_count=1)
        assert again.before == found.after


async def test_consolidation_goes_by_it():
    """Five at 50 degrees of each other: 0.64 like each other, too little for 0.7."""
    model = FunctionModel(reply)
    async with opened(model, recurrence=None) as memory:
        bank = await memory.bank("bank")
        await filled(bank)
        await bank.calibrate(share=0.1, theta_count=1)
        await bank._store.commit(_threshold(bank, 0.6))
        await bank.run_jobs()
        model.prompts.clear()
        await bank.retain(said("b@0 one", "b@50 two", start=70), session="t", wait=True)
        assert operations(model) == ["episodes", "refine"]


def _threshold(bank, theta):
    value = {"embedder": "compass", "theta_sim": theta, "theta_count": 1, "share": 0.1, "units": 60}
    return Changeset(settings=((KEY, json.dumps({**value, "at": NOW.isoformat()})),))


async def test_what_belongs_to_another_embedder_is_left_alone(caplog):
    class Other(Compass):
        name = "another"

    async with opened() as memory:
        store = (await memory.bank("bank"))._store
        await filled(await memory.bank("bank"))
        await (await memory.bank("bank")).calibrate()
        assert await read_threshold(store) is not None
    async with Memory.open(":memory:", embedder=Other()) as memory:
        store = (await memory.bank("bank"))._store
        await store.commit(_threshold(None, 0.1))
        assert await read_threshold(store) is None
        assert await choose_recurrence(store, ConsolidateSettings()) == CASUAL
        assert "no threshold is known for the embedder another" in caplog.text
        assert "recollect calibrate --bank bank" in caplog.text


async def test_an_explicit_recurrence_is_taken_as_it_stands():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await filled(bank)
        await bank.calibrate()
        own = Recurrence(theta_sim=0.33, theta_count=2)
        assert await choose_recurrence(bank._store, ConsolidateSettings(recurrence=own)) == own


async def test_the_default_embedder_has_a_threshold_of_its_own():
    async with Memory.open(":memory:") as memory:
        bank = await memory.bank("bank")
        recurrence = await choose_recurrence(bank._store, ConsolidateSettings())
        assert recurrence == RECURRENCE[bank._store.embedder]
        assert recurrence.theta_sim < CASUAL.theta_sim, "its cosines lie lower"
        assert recurrence.theta_count == CASUAL.theta_count


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.0}, {"theta_count": 0}, {"theta_count": 21}])
async def test_numbers_out_of_their_range_are_refused(wrong):
    async with opened() as memory:
        bank = await memory.bank("bank")
        await filled(bank)
        with pytest.raises(InvalidInput, match="give a number"):
            await bank.calibrate(**wrong)


async def test_too_few_units_tell_nothing():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await filled(bank, 54)
        with pytest.raises(InvalidInput, match="bank 'bank' has 54 units; calibration needs at least 55"):
            await bank.calibrate()
        await bank.retain(said("a@1 one more", start=90), session="t")
        assert (await bank.calibrate()).units == 55


async def test_units_are_taken_in_the_order_in_which_they_were_kept():
    async with opened() as memory:
        bank = await memory.bank("bank")
        texts = ("a@0 said last", "b@5 said before", "c@9 said first")
        for n, message in enumerate(said(*texts)):
            await bank.retain(_moved(message, hours=-n), session=f"s{n}")
        assert np.allclose(await load_unit_vectors(bank._store), await Compass().embed(texts), atol=1e-3)


def _moved(message, *, hours):
    return replace(message, at=AT + timedelta(hours=hours))


def test_it_can_be_called_without_await():
    with sync.Memory.open(":memory:", embedder=Compass()) as memory:
        bank = memory.bank("bank")
        bank.retain(said(*(f"a@{n} x" for n in range(60))), session="s")
        assert bank.calibrate(share=0.2).stored
