"""A whole memory over an engine of somebody else, opened through the public door alone."""

from datetime import UTC, datetime

import pytest
from toy_engine import ToyStores

from recollect import Memory, Message, sync
from recollect.errors import BankNotFound, InvalidInput, MissingCapability
from recollect.testing.models import FunctionModel, HashEmbedder

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)


def opened(stores, **options):
    return Memory.open(stores, **{"recipe": "tempr", "embedder": HashEmbedder(), "model": "none"} | options)


def said(*texts):
    return [Message(id=text, speaker="Ada", text=text, at=AT) for text in texts]


def cited(prompt, answer_type):
    return answer_type(reasoning="Entry 1 says so.", answer="A beagle.", abstained=False, citations=(1,))


async def filled(memory, name="ada"):
    bank = await memory.bank(name)
    await bank.retain(said("I adopted a beagle.", "The rain never stops."), session="monday")
    await bank.retain(said("My bakery opens in May."), session="tuesday")
    return bank


async def test_it_is_written_searched_and_asked():
    async with opened(ToyStores(), model=FunctionModel(cited)) as memory:
        bank = await filled(memory)
        assert [one.text for one in await bank.messages_of("tuesday")] == ["My bakery opens in May."]
        found = await bank.recall("beagle", limit=1)
        assert [one.text for one in found.evidence] == ["I adopted a beagle."]
        answer = await bank.ask("Which animal did Ada adopt?", limit=1)
        (citation,) = answer.citations
        assert (answer.text, citation.id) == ("A beagle.", found.evidence[0].id)
        assert (await bank.costs())[0].usage.calls == 1
        assert await memory.banks() == ("ada",)


async def test_it_forgets_moves_and_is_embedded_again():
    async with opened(ToyStores()) as memory:
        bank = await filled(memory)
        receipt = await bank.forget(session="tuesday")
        assert (receipt.messages, receipt.verified) == (("My bakery opens in May.",), True)
        assert (await bank.info()).messages == 2
        other = await memory.bank("copy")
        await other.import_([line async for line in bank.export()])
        assert (await other.info()).items == (await bank.info()).items
        assert (await other.recall("beagle", limit=1)).evidence[0].text == "I adopted a beagle."
        await memory.rebuild("copy")
        await memory.drop("copy")
        with pytest.raises(BankNotFound):
            await memory.bank("copy", create=False)


async def test_a_recipe_that_needs_more_than_it_offers_says_so():
    async with opened(ToyStores(), recipe="default") as memory:
        bank = await memory.bank("ada")
        with pytest.raises(MissingCapability, match="segments"):
            await bank.retain(said("I adopted a beagle."))


def test_it_works_without_await():
    with sync.Memory.open(ToyStores(), recipe="tempr", embedder=HashEmbedder(), model="none") as memory:
        bank = memory.bank("ada")
        bank.retain(said("I adopted a beagle."))
        assert bank.recall("beagle").evidence[0].text == "I adopted a beagle."


async def test_an_address_is_still_no_store():
    with pytest.raises(InvalidInput, match="is an address"):
        Memory.open("toy://here")
