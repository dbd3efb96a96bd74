import asyncio
import inspect
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import pytest
from standin_model import standin

import recollect
from recollect import Message, sync
from recollect.errors import BankNotFound, InvalidInput, RecollectError, StoreError
from recollect.memory.bank import Bank
from recollect.methods.hindsight.extractor import Extractor
from recollect.methods.hindsight.settings import ExtractSettings
from recollect.recipes import Recipe
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)
AT_ONCE = Recipe(name="at once", consolidate=(partial(Extractor, settings=ExtractSettings(settle_s=0.0)),))
PAIRS = [(recollect.Memory, sync.Memory), (Bank, sync.Bank)]


def public(kind):
    """What a user awaits, iterates over, reads or opens."""
    members = {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}
    return {
        name: member
        for name, member in members.items()
        if inspect.iscoroutinefunction(member)
        or isinstance(member, property)
        or inspect.signature(member).return_annotation.startswith(("AsyncIterator", "Self"))
    }


@pytest.fixture
def memory():
    with sync.Memory.open(":memory:", embedder=HashEmbedder()) as opened:
        yield opened


def said(*texts):
    return [Message(text=text, speaker="Ada", at=AT, id=text) for text in texts]


@pytest.mark.parametrize(("asynchronous", "plain"), PAIRS)
def test_everything_public_is_there_and_nothing_is_a_coroutine(asynchronous, plain):
    mine = {name: getattr(plain, name) for name in public(asynchronous)}
    assert len(mine) > 5
    assert not [name for name, member in mine.items() if inspect.iscoroutinefunction(member)]


@pytest.mark.parametrize(("asynchronous", "plain"), PAIRS)
def test_methods_keep_name_signature_and_docstring(asynchronous, plain):
    for name, member in public(asynchronous).items():
        mine = getattr(plain, name)
        if callable(member) and name != "close":
            assert mine.__name__ == name
            assert inspect.signature(mine) == inspect.signature(member)
            assert mine.__doc__ == member.__doc__


def test_a_bank_is_used_without_await(memory):
    bank = memory.bank("ada")
    assert bank.name == "ada"
    assert bank.retain(said("I adopted Toby."), session="s").messages == ("I adopted Toby.",)
    assert [evidence.text for evidence in bank.recall("Toby", limit=3).evidence] == ["I adopted Toby."]
    assert [message.text for message in bank.messages()] == ["I adopted Toby."]
    assert memory.banks() == ("ada",)
    assert bank.forget(session="s").verified
    assert memory.rebuild("ada").info().messages == 0
    assert memory.info("ada").name == "ada"
    memory.drop("ada")
    with pytest.raises(BankNotFound):
        memory.bank("ada", create=False)


def test_what_is_asynchronous_runs_where_the_bank_lives(memory):
    bank = memory.bank("ada")
    bank.retain(said("I adopted Toby.", "Toby is a dog."), session="s")

    async def words(session):
        held = await bank.asynchronous.messages_of(session)
        return threading.current_thread().name, [message.text for message in held]

    assert bank.run(words, "s") == ("recollect", ["I adopted Toby.", "Toby is a dog."])
    assert [(session.id, session.started) for session in bank.sessions()] == [("s", AT)]
    memory.close()
    with pytest.raises(StoreError):
        bank.run(words, "s")


def test_what_a_model_makes_is_there_without_await():
    model = standin()
    with sync.Memory.open(":memory:", embedder=HashEmbedder(), recipe="hindsight", model=model) as memory:
        bank = memory.bank("ada")
        bank.set_profile(recollect.Profile(name="Iris"))
        assert bank.profile().name == "Iris"
        assert bank.add_background("You keep notes.").background == "I keep notes."
        receipt = bank.retain(said("I adopted Toby.", "Toby is a dog."), session="s", wait=True)
        assert receipt.jobs == 1
        assert receipt.notes == ()
        assert bank.run_jobs() == ()
        assert bank.jobs() == []
        assert len(bank.items("fact")) == 2
        assert bank.observations() == []
        assert bank.ask("Who is Toby?").citations
        formed = bank.reflect("Is Toby good for Ada?").opinions
        assert [opinion.id for opinion in bank.opinions()] == list(formed)
        assert {cost.role for cost in bank.costs()} == {"extract", "answer", "reflect"}
        for change in (bank.retry_job, bank.drop_job):
            with pytest.raises(InvalidInput):
                change("nothing")
        bank.stop_jobs()


def test_background_work_goes_on_in_the_memorys_own_thread(tmp_path):
    model, deadline = standin(), time.monotonic() + 30
    with sync.Memory.open(tmp_path, embedder=HashEmbedder(), recipe=AT_ONCE, model=model) as memory:
        memory.bank("ada").retain(said("I adopted Toby."), session="s")
        while not model.prompts:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_errors_come_through_as_they_are(memory):
    with pytest.raises(InvalidInput, match="limit is 0"):
        memory.bank("ada").recall("x", limit=0)
    with pytest.raises(InvalidInput, match="no recipe"):
        sync.Memory.open(":memory:", recipe="stew")


def test_export_is_a_plain_iterator_and_may_be_left(memory):
    bank = memory.bank("ada")
    bank.retain(said(*(f"message {number}" for number in range(300))), session="s")
    lines = list(bank.export())
    assert len(lines) > 600
    some = bank.export()
    assert next(some) == lines[0]
    some.close()
    assert memory.bank("copy").import_(lines).messages == 300


def test_a_bank_is_imported_while_it_is_exported(memory):
    one, other = memory.bank("one"), memory.bank("other")
    one.retain(said("a"), session="s")
    assert other.import_(one.export()).messages == 1
    assert memory.import_bank("third", other.export()).messages == 1


def test_a_bank_is_backed_up_and_restored(tmp_path):
    with sync.Memory.open(tmp_path / "banks", embedder=HashEmbedder()) as memory:
        memory.bank("one").retain(said("a"), session="s")
        assert memory.backup("one", tmp_path / "file").messages == 1
        assert memory.restore(tmp_path / "file", "two").messages == 1


def test_a_memory_that_waits_for_itself_is_an_error_and_no_deadlock(memory):
    bank = memory.bank("one")

    async def wait_for_itself():
        return bank.info()

    with pytest.raises(RecollectError, match="from within itself"):
        bank.run(wait_for_itself)


def test_it_is_used_from_several_threads(memory):
    bank = memory.bank("ada")
    with ThreadPoolExecutor(8) as threads:
        receipts = list(threads.map(lambda number: bank.retain(said(f"m{number}"), session=str(number)), range(40)))
    assert sum(len(receipt.messages) for receipt in receipts) == 40
    assert bank.info().messages == 40


async def test_it_is_used_inside_a_running_loop():
    with sync.Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        assert memory.bank("ada").retain(said("a"), session="s").messages == ("a",)


def test_after_closing_it_says_so_and_the_thread_is_gone():
    before = threading.active_count()
    memory = sync.Memory.open(":memory:", embedder=HashEmbedder())
    bank = memory.bank("ada")
    bank.retain(said("a"), session="s")
    lines = bank.export()
    next(lines)
    memory.close()
    memory.close()
    assert threading.active_count() == before
    for use in (bank.info, memory.banks, lambda: list(bank.export())):
        with pytest.raises(StoreError, match="the memory is closed; open it again"):
            use()
    lines.close()


def test_closing_ends_what_others_wait_for():
    class Slow(HashEmbedder):
        async def embed(self, texts, *, purpose="document"):
            began.set()
            await asyncio.sleep(60)

    began = threading.Event()
    memory = sync.Memory.open(":memory:", embedder=Slow())
    bank = memory.bank("ada")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(bank.retain, said("a"), session="s")
        assert began.wait(10)
        memory.close()
        with pytest.raises(StoreError, match="closed"):
            waiting.result(10)


def test_the_bank_survives_on_disk(tmp_path):
    with sync.Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.bank("ada").retain(said("a"), session="s")
    with sync.Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.bank("ada", create=False).info().messages == 1
