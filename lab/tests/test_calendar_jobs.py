"""One message at the end of the calendar, which a bank of an earlier version may hold, fails no job of its bank."""

from datetime import UTC, datetime

import pytest

import recollect.domain.messages
from recollect import Memory, Message
from recollect.testing.models import HashEmbedder
from recollect.worker import WorkerSettings
from recollect_lab.cost.stub import StubModel


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize("recipe", ["default", "hindsight", "remem", "recmem", "emem"])
async def test_the_jobs_of_its_bank_are_done(tmp_path, monkeypatch, recipe, at):
    settings = WorkerSettings(automatic=False)
    async with Memory.open(
        tmp_path, embedder=HashEmbedder(), recipe=recipe, model=StubModel(), worker=settings
    ) as memory:
        bank = await memory.bank("b")
        await bank.retain([Message(text="Ada adopted Toby in Leeds", important=True)], session="s")
        with monkeypatch.context() as earlier:
            earlier.setattr(recollect.domain.messages, "require_moment", lambda name, moment: moment)
            message = Message(text="Bram went to Paris last week", at=at, important=True)
        await bank.retain([message], session="s")
        await bank.retain([Message(text="Ada moved to York", important=True)], session="s")
        assert await bank.run_jobs() == ()
        assert await bank.jobs() == []
