"""What a store lacks is said plainly: by an error where it is needed, by a note where something else stands in."""

from datetime import UTC, datetime

import pytest

from recollect import Memory, Message
from recollect.domain.changes import Changeset
from recollect.domain.segments import Stream
from recollect.errors import MissingCapability
from recollect.methods.emem.router import NOT_KEPT
from recollect.store.capabilities import require_capabilities, require_segments, require_triples, states_folder
from recollect.store.protocol import Capability
from recollect.store.sqlite.folder import SqliteFolder
from recollect.store.sqlite.store import SqliteStore
from recollect.testing.models import HashEmbedder

NOW = datetime(2024, 5, 1, tzinfo=UTC)


class CoreStore(SqliteStore):
    @property
    def capabilities(self):
        return frozenset()


@pytest.fixture
def core(monkeypatch):
    monkeypatch.setattr("recollect.store.sqlite.store.SqliteStore", CoreStore)


def test_a_missing_capability_is_named_with_the_bank_and_what_there_is():
    class Reader:
        name, capabilities = "ada", frozenset({Capability.SEGMENTS})

    assert require_segments(Reader()).name == "ada"
    with pytest.raises(MissingCapability, match=r"needs triples.*'ada'.*offers segments"):
        require_triples(Reader())
    require_capabilities(Changeset(stream=Stream(length=2, overlap=1)), Reader())


def test_changes_that_a_store_cannot_keep_are_refused():
    class Reader:
        name, capabilities = "ada", frozenset()

    require_capabilities(Changeset(), Reader())
    with pytest.raises(MissingCapability, match="only the core"):
        require_capabilities(Changeset(stream=Stream(length=2, overlap=1)), Reader())


@pytest.mark.usefixtures("core")
async def test_a_recipe_that_keeps_segments_says_that_the_store_has_none(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="emem", model="none") as memory:
        bank = await memory.bank("ada")
        with pytest.raises(MissingCapability, match="needs segments"):
            await bank.retain([Message(speaker="Ada", text="I adopted Toby.", at=NOW)], session="s")


@pytest.mark.usefixtures("core")
async def test_single_items_stand_in_for_segments_and_the_receipt_says_so(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="recmem", model="none") as memory:
        await (await memory.bank("ada")).retain([Message(speaker="Ada", text="I adopted Toby.", at=NOW)], session="s")
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="emem", model="none") as memory:
        found = await (await memory.bank("ada")).recall("Who adopted Toby?")
    assert len(found.evidence) == 1
    assert NOT_KEPT in found.receipt.notes


async def test_a_bank_in_memory_has_no_folder_for_states(tmp_path):
    kept = await SqliteFolder(tmp_path).open("ada", embedder="hash", dimension=8)
    passing = await SqliteFolder(":memory:").open("ada", embedder="hash", dimension=8)
    assert states_folder(kept) == tmp_path / "ada.states"
    assert states_folder(passing) is None
    with pytest.raises(MissingCapability):
        _ = passing.states
    await kept.close()
    await passing.close()
