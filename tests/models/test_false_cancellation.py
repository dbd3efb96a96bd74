"""A model that raises a cancellation does not cancel its caller; a real cancellation stays one."""

import asyncio

import pytest

from recollect import Memory, Message
from recollect.errors import ModelError
from recollect.models.failures import no_false_cancellation
from recollect.testing.models import FunctionModel, HashEmbedder


class NoError(BaseException):
    """What some library raises that is not an Exception."""


@pytest.mark.parametrize("raised", [asyncio.CancelledError, NoError])
async def test_asking_a_model_that_cancels_is_an_error_of_ours(raised):
    def answer(prompt, answer_type):
        raise raised("by the model")

    async with Memory.open(":memory:", embedder=HashEmbedder(), model=FunctionModel(answer, name="odd")) as memory:
        bank = await memory.bank("ada")
        await bank.retain(Message(text="I adopted Toby."), session="s")
        with pytest.raises(ModelError, match=f"odd raised {raised.__name__}"):
            await bank.ask("Who was adopted?")
        assert [(cost.failed, cost.usage.calls) for cost in await bank.costs()] == [(1, 0)]


async def test_a_real_cancellation_stays_one():
    began = asyncio.Event()

    async def call():
        with no_false_cancellation("slow"):
            began.set()
            await asyncio.Event().wait()

    calling = asyncio.create_task(call())
    await began.wait()
    calling.cancel()
    await asyncio.wait([calling])
    assert calling.cancelled()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit, ValueError])
def test_what_ends_a_program_and_errors_pass(raised):
    with pytest.raises(raised), no_false_cancellation("odd"):
        raise raised
