"""Given facts beside those that are read from the same messages."""

from indexing_bank import held, opened, said

from recollect import Fact
from recollect.domain.items import ItemKind

GIVEN = Fact(id="f", subject="Toby", predicate="is", object="a beagle", sources=("m0",))


async def test_messages_that_a_fact_comes_from_are_read_all_the_same():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby slept.", "Toby barked."), session="s")
        for job in await bank.jobs():
            await bank.drop_job(job.id)
        await bank.add_facts(GIVEN)
        assert await bank.backfill() == 2
        await bank.run_jobs()
        assert (await held(bank, ItemKind.TRIPLE)).keys() == {
            "Toby is a beagle",
            "Toby told slept.",
            "Toby told barked.",
        }


async def test_what_is_read_anew_does_not_take_the_place_of_a_given_fact():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby slept."), session="s")
        await bank.add_facts(GIVEN)
        assert await bank.run_jobs() == ()
        assert (await held(bank, ItemKind.TRIPLE)).keys() == {"Toby is a beagle", "Toby told slept."}


async def test_a_given_fact_that_goes_gives_a_model_nothing_to_read():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said("Toby slept.", "Toby barked."), session="s", wait=True)
        await bank.add_facts(GIVEN)
        receipt = await bank.forget(facts="f")
        assert (receipt.items, await bank.jobs()) == (1, [])
