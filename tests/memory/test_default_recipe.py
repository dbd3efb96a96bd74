"""The default recipe's background work: there where a model is, and nothing that waits for one where none is."""

from datetime import UTC, datetime, timedelta

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.methods.recmem.episodes import EpisodesReply, ExtractedEpisode, MergeReply
from recollect.methods.recmem.refinement import FactsReply
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, tzinfo=UTC)


def said(count):
    return [
        Message(id=f"m{n}", speaker="Ada", text="I watered the tomatoes again.", at=AT + timedelta(minutes=n))
        for n in range(count)
    ]


def opened(folder, model):
    worker = WorkerSettings(automatic=False)
    return Memory.open(folder, embedder=HashEmbedder(256), model=model, worker=worker, clock=lambda: AT)


def told(prompt, answer_type):
    """An episode of all exchanges that are shown, and no fact beside it."""
    if answer_type is FactsReply:
        return FactsReply(facts=())
    if answer_type is MergeReply:
        return MergeReply(merge=True, episode="Ada waters her tomatoes.")
    shown = sum(line.startswith("[") for line in prompt.text.splitlines())
    return EpisodesReply(
        episodes=(ExtractedEpisode(text="Ada waters her tomatoes.", exchanges=tuple(range(1, shown + 1))),)
    )


async def test_without_a_model_nothing_waits_and_nobody_says_so(tmp_path):
    async with opened(tmp_path, "none") as memory:
        bank = await memory.bank("ada")
        receipt = await bank.retain(said(8), session="s", wait=True)
        assert (receipt.jobs, receipt.notes) == (0, ())
        await bank.forget(messages="m7")
        assert await bank.backfill() == 0
        assert await bank.jobs() == []
        assert (await bank.info()).items == 7
        assert (await bank.info()).segments == 1


async def test_where_a_model_comes_later_rereading_catches_up(tmp_path):
    async with opened(tmp_path, "none") as memory:
        await (await memory.bank("ada")).retain(said(8), session="s")
    async with opened(tmp_path, FunctionModel(told)) as memory:
        bank = await memory.bank("ada")
        assert await bank.run_jobs() == ()
        assert await bank.items("episode") == []
        assert await bank.backfill() == 8
        assert await bank.run_jobs() == ()
        assert {item.text for item in await bank.items("episode")} == {"Ada waters her tomatoes."}
        found = await bank.recall("What does Ada do with her tomatoes?", limit=20)
        assert {piece.kind for piece in found.evidence} == {ItemKind.TURN, ItemKind.EPISODE}


async def test_with_a_model_what_recurs_is_told_as_an_episode(tmp_path):
    async with opened(tmp_path, FunctionModel(told)) as memory:
        bank = await memory.bank("ada")
        receipt = await bank.retain(said(8), session="s", wait=True)
        assert (receipt.jobs, receipt.notes) == (1, ())
        assert {item.text for item in await bank.items("episode")} == {"Ada waters her tomatoes."}
