"""What a recipe offers beside its parts: the bank asks the recipe, and says where it offers nothing."""

from dataclasses import dataclass, replace

import pytest

from recollect import Memory, sync
from recollect.errors import InvalidInput
from recollect.recipes import get_recipe
from recollect.testing.models import HashEmbedder

BARE = replace(get_recipe("default"), name="bare", tools=None, beliefs=None, calibrator=None)


@dataclass(frozen=True)
class Said:
    text: str


class Parrot:
    """Tools of somebody else."""

    schemas = ({"type": "function", "function": {"name": "say"}},)

    async def call(self, name, arguments):
        return Said(text=f"{name} {arguments['words']}")

    async def say(self, words):
        return await self.call("say", {"words": words})


PARROTS = replace(BARE, name="parrots", tools=lambda dependencies: lambda query, reader: Parrot())


async def test_what_a_recipe_does_not_offer_is_an_error_that_names_both():
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=BARE) as memory:
        bank = await memory.bank("ada")
        with pytest.raises(
            InvalidInput, match="the recipe 'bare' has no tools; open the memory with a recipe that offers this"
        ):
            bank.tools()
        with pytest.raises(InvalidInput, match="'bare' has no opinions"):
            await bank.opinions()
        with pytest.raises(InvalidInput, match="'bare' has no background"):
            await bank.add_background("I am a guide.")
        with pytest.raises(InvalidInput, match="'bare' has no calibration"):
            await bank.calibrate()


async def test_a_recipe_offers_tools_of_its_own():
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=PARROTS) as memory:
        bank = await memory.bank("ada")
        assert (await bank.tools().call("say", {"words": "hello"})).text == "say hello"


def test_tools_of_another_package_work_without_await():
    with sync.Memory.open(":memory:", embedder=HashEmbedder(), recipe=PARROTS) as memory:
        tools = memory.bank("ada").tools()
        assert tools.schemas == Parrot.schemas
        assert tools.say("hello").text == "say hello"
        with pytest.raises(AttributeError):
            tools.fly  # noqa: B018
