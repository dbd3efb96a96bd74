"""Calls end in their time, and an embedder that is slow or hangs holds up nobody else."""

import asyncio
import threading

import pytest

from recollect import Memory, Message, Role
from recollect.errors import DeadlineExceeded, InvalidInput, RecollectError
from recollect.store.commit_retry import GENEROUS_WAITS
from recollect.store.sqlite.store import SqliteStore
from recollect.testing.models import FunctionModel, HashEmbedder

SOON = 0.05


class Gated(HashEmbedder):
    """Waits for its gate when it embeds a text with a certain word, and remembers what it was asked."""

    def __init__(self, word="slow"):
        super().__init__()
        self.word, self.gate, self.asked, self.waits = word, asyncio.Event(), [], asyncio.Event()

    async def embed(self, texts, *, purpose="document"):
        self.asked.extend(texts)
        if any(self.word in text for text in texts):
            self.waits.set()
            await self.gate.wait()
        return await super().embed(texts, purpose=purpose)


class Deaf(HashEmbedder):
    """Goes on when it is cancelled."""

    def __init__(self):
        super().__init__()
        self.gate = asyncio.Event()

    async def embed(self, texts, *, purpose="document"):
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                continue
        return await super().embed(texts, purpose=purpose)


class Blocking(HashEmbedder):
    """Blocks a thread of asyncio.to_thread, as an embedder without asynchronous calls does."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()

    async def embed(self, texts, *, purpose="document"):
        if any("slow" in text for text in texts):
            await asyncio.to_thread(self.gate.wait)
        return await super().embed(texts, purpose=purpose)


def opened(folder, embedder, **more):
    return Memory.open(folder, embedder=embedder, **{"model": "none"} | more)


async def texts_of(bank):
    return [message.text for message in await bank.messages()]


async def test_a_write_that_waits_for_its_embedder_holds_up_no_other(tmp_path):
    embedder = Gated()
    async with opened(tmp_path, embedder) as memory:
        bank = await memory.bank("ada")
        slow = asyncio.create_task(bank.retain(Message(text="slow words")))
        await embedder.waits.wait()
        await bank.retain(Message(text="quick words"))
        await bank.forget(session=(await bank.sessions())[0].id)
        await bank.retain(Message(text="more words"))
        assert not slow.done()
        embedder.gate.set()
        await slow
        assert await texts_of(bank) == ["more words", "slow words"]
        assert embedder.asked.count("slow words") == 1


async def test_no_text_is_embedded_twice_though_another_process_writes_each_time(tmp_path):
    embedder = Gated()
    async with opened(tmp_path, embedder) as memory, opened(tmp_path, HashEmbedder()) as other:
        mine, theirs = await memory.bank("ada"), await other.bank("ada")
        slow = asyncio.create_task(mine.retain([Message(text="slow words"), Message(text="and these")]))
        await embedder.waits.wait()
        for number in range(3):
            await theirs.retain(Message(text=f"quick words {number}"))
        embedder.gate.set()
        await slow
        assert sorted(embedder.asked) == ["and these", "slow words"]
        assert len(await texts_of(mine)) == 5
        assert (await mine.recall("slow words", limit=1)).evidence[0].text.endswith("slow words")


async def test_a_write_ends_though_other_texts_must_be_embedded_each_time(tmp_path):
    """Each time that it waits, the turn that its answer belongs to changes."""
    async with opened(tmp_path, HashEmbedder()) as other:
        theirs, written = await other.bank("ada"), 0

        class Overtaken(HashEmbedder):
            async def embed(self, texts, *, purpose="document"):
                nonlocal written
                if written < GENEROUS_WAITS:
                    written += 1
                    await theirs.retain(Message(text=f"question {written}", role=Role.USER), session="s")
                return await super().embed(texts, purpose=purpose)

        async with opened(tmp_path, Overtaken()) as memory:
            mine = await memory.bank("ada")
            await mine.retain(Message(text="an answer", role=Role.ASSISTANT), session="s")
            assert await texts_of(mine) == [f"question {n + 1}" for n in range(GENEROUS_WAITS)] + ["an answer"]


@pytest.mark.parametrize("embedder", [Gated, Deaf, Blocking])
async def test_a_call_ends_in_its_time_and_nothing_is_stored(tmp_path, embedder):
    model = embedder()
    async with opened(tmp_path, model) as memory:
        bank = await memory.bank("ada")
        with pytest.raises(DeadlineExceeded, match=r"not done in 0\.05 s; nothing was stored"):
            await bank.retain(Message(text="slow words"), timeout=SOON)
        with pytest.raises(DeadlineExceeded):
            await bank.recall("slow words", timeout=SOON)
        with pytest.raises(DeadlineExceeded):
            await bank.ask("Who said slow words?", timeout=SOON)
        with pytest.raises(DeadlineExceeded):
            _ = [step async for step in bank.ask_stream("Who said slow words?", timeout=SOON)]
        assert (await bank.info()).messages == 0
        model.gate.set()
        await bank.retain(Message(text="slow words"))
        assert await texts_of(bank) == ["slow words"]


async def test_embedders_that_block_threads_leave_threads_for_the_bank(tmp_path):
    model = Blocking()
    async with opened(tmp_path, model) as memory:
        bank = await memory.bank("ada")
        hung = [asyncio.create_task(bank.retain(Message(text="slow words"), timeout=SOON)) for _ in range(80)]
        ends = await asyncio.gather(*hung, return_exceptions=True)
        assert {type(end) for end in ends} == {DeadlineExceeded}
        await bank.retain(Message(text="quick words"))
        assert (await bank.recall("quick words")).evidence
        model.gate.set()


async def test_changes_that_are_being_stored_when_the_time_is_over_are_stored(tmp_path, monkeypatch):
    begun, gate, commit = threading.Event(), threading.Event(), SqliteStore._commit

    def slow_commit(self, connection, changes):
        begun.set()
        gate.wait()
        commit(self, connection, changes)

    async with opened(tmp_path, HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        monkeypatch.setattr(SqliteStore, "_commit", slow_commit)
        asyncio.get_running_loop().call_later(40 * SOON, gate.set)
        receipt = await bank.retain(Message(id="m1", text="words"), timeout=30 * SOON)
        assert (receipt.messages, await texts_of(bank)) == (("m1",), ["words"])
        gate.clear()
        begun.clear()
        asyncio.get_running_loop().call_later(6 * SOON, gate.set)
        task = asyncio.create_task(bank.retain(Message(text="more words")))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await texts_of(bank) == ["words", "more words"]


async def test_a_transaction_that_has_not_begun_in_time_never_begins(tmp_path):
    async with opened(tmp_path, HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        held, gate = threading.Event(), threading.Event()

        def hold():
            with bank._store._database.write_transaction():
                held.set()
                gate.wait()

        holding = asyncio.create_task(asyncio.to_thread(hold))
        await asyncio.to_thread(held.wait)
        with pytest.raises(DeadlineExceeded, match="nothing was stored"):
            await bank.retain(Message(text="words"), timeout=SOON)
        gate.set()
        await holding
        await bank.retain(Message(text="more words"))
        assert await texts_of(bank) == ["more words"]


async def test_messages_are_stored_though_the_background_work_takes_longer(tmp_path):
    class Hanging(FunctionModel):
        async def generate(self, *args, **kwargs):
            await asyncio.Event().wait()

    model = Hanging(lambda prompt, answer_type: None)
    async with opened(tmp_path, HashEmbedder(), model=model, recipe="hindsight") as memory:
        bank = await memory.bank("ada")
        receipt = await bank.retain(Message(text="Ada has a dog."), wait=True, timeout=6 * SOON)
        assert len(receipt.messages) == 1
        assert receipt.notes[0].startswith("background work continues after the call")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
async def test_a_time_that_is_no_time_is_refused(tmp_path, timeout):
    async with opened(tmp_path, HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        for call in (bank.retain(Message(text="words"), timeout=timeout), bank.recall("words", timeout=timeout)):
            with pytest.raises(InvalidInput, match="timeout"):
                await call


@pytest.mark.parametrize("error", [TimeoutError("slow"), RuntimeError("out of memory"), OSError("disk")])
async def test_every_failure_of_an_embedder_is_an_error_of_our_tree(tmp_path, error):
    class Broken(HashEmbedder):
        async def embed(self, texts, *, purpose="document"):
            raise error

    async with opened(tmp_path, Broken()) as memory:
        bank = await memory.bank("ada")
        for call in (bank.retain(Message(text="words"), timeout=9), bank.recall("words", timeout=9)):
            with pytest.raises(RecollectError, match=type(error).__name__) as caught:
                await call
            assert caught.value.__cause__ is error
