"""States beside a bank: erased with what is forgotten, gone with the bank, and told of where they cannot be removed."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from test_states import KEY, LAYERS, layers_of

from recollect import Memory, Message
from recollect.app.model_pool import ModelPool
from recollect.errors import StoreUnavailable
from recollect.models.language import ModelRole
from recollect.models.languages.role_models import RoleModels
from recollect.models.languages.states import LoadedState, StateFolder
from recollect.store.capabilities import states_folder
from recollect.store.sqlite import state_folders
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
SAID = [
    Message(speaker="Ada", text="Toby is from the shelter in Leeds.", at=NOW, id="m1"),
    Message(speaker="Ada", text="I sold the van yesterday.", at=NOW, id="m2"),
]


class Keeping(FunctionModel):
    """Keeps states, and knows where."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(lambda *_: "yes")
        self.folder = folder

    def with_state_folder(self, folder: Path) -> Keeping:
        StateFolder(folder).locate()
        return Keeping(folder)


def keep_state(folder: Path) -> Path:
    """Keep a state as a local model would."""
    place = StateFolder(folder, quiet_s=0.0).locate()
    assert place is not None
    assert StateFolder(folder).save(place, KEY, *layers_of(KEY)) == ""
    return place


def state_files(store: Path) -> list[Path]:
    return list(store.rglob("*.safetensors"))


async def test_forgetting_erases_every_state_and_the_receipt_is_verified(tmp_path):
    async with Memory.open(tmp_path, model="none") as memory:
        bank, other = await memory.bank("ada"), await memory.bank("bram.2")
        for one in (bank, other):
            await one.retain(SAID, session="a")
        place = keep_state(tmp_path / "ada.states")
        keep_state(tmp_path / "bram.2.states")
        assert len(state_files(tmp_path)) == 2
        receipt = await bank.forget(messages=["m1"])
        assert (receipt.verified, receipt.leftovers) == (True, ())
        assert [path.parts[-3] for path in state_files(tmp_path)] == ["bram.2.states"]
        assert StateFolder(tmp_path / "ada.states").locate() is None  # just erased
        assert StateFolder(tmp_path / "ada.states").load(place, KEY, LAYERS) == LoadedState()


async def test_forgetting_nothing_erases_nothing(tmp_path):
    async with Memory.open(tmp_path, model="none") as memory:
        bank = await memory.bank("ada")
        await bank.retain(SAID, session="a")
        keep_state(tmp_path / "ada.states")
        await bank.forget(messages=["unknown"])
        assert len(state_files(tmp_path)) == 1


async def test_a_state_that_cannot_be_removed_is_in_the_receipt_and_removed_later(tmp_path, monkeypatch):
    async with Memory.open(tmp_path, model="none") as memory:
        bank = await memory.bank("ada")
        await bank.retain(SAID, session="a")
        keep_state(tmp_path / "ada.states")
        with monkeypatch.context() as patch:
            patch.setattr(state_folders.shutil, "rmtree", lambda path, ignore_errors: None)
            receipt = await bank.forget(messages=["m1"])
        assert not receipt.verified
        (left,) = receipt.leftovers
        assert left.startswith("ada.states.gone-")
        assert (tmp_path / left).is_file()
    async with Memory.open(tmp_path, model="none") as memory:
        await memory.bank("ada")
        assert state_files(tmp_path) == []


async def test_a_folder_that_cannot_be_put_aside_is_told_of(tmp_path, monkeypatch):
    async with Memory.open(tmp_path, model="none") as memory:
        bank = await memory.bank("ada")
        await bank.retain(SAID, session="a")
        keep_state(tmp_path / "ada.states")

        def refuse(self, target):
            raise PermissionError(13, "in use")

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", refuse)
            receipt = await bank.forget(messages=["m1"])
        assert not receipt.verified
        assert receipt.leftovers[0].startswith("ada.states")


async def test_states_are_erased_by_who_opens_a_bank_that_somebody_was_killed_in_forgetting(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(bank, *, remain):
        raise Killed

    async with Memory.open(tmp_path, model="none") as memory:
        bank = await memory.bank("ada")
        await bank.retain(SAID, session="a")
        keep_state(tmp_path / "ada.states")
        with monkeypatch.context() as patch:
            patch.setattr("recollect.store.sqlite.store.erase_states", killed)
            with pytest.raises(Killed):
                await bank.forget(messages=["m1"])
        assert len(state_files(tmp_path)) == 1
    async with Memory.open(tmp_path, model="none") as memory:
        await memory.bank("ada")
        assert state_files(tmp_path) == []


async def test_a_dropped_bank_leaves_no_state(tmp_path):
    async with Memory.open(tmp_path, model="none") as memory:
        await memory.bank("ada")
        keep_state(tmp_path / "ada.states")
        aside = tmp_path / f"ada.states.gone-{'0' * 32}"
        aside.mkdir()
        (aside / "x.safetensors").write_bytes(b"left")
        await memory.drop("ada")
        assert [path for path in tmp_path.rglob("*") if path.name.startswith("ada")] == []


async def test_what_is_another_banks_is_left_alone(tmp_path):
    async with Memory.open(tmp_path, model="none") as memory:
        other = f"ada.states.gone-{'0' * 32}"
        for name in ("ada", other):
            bank = await memory.bank(name)
            await bank.retain(SAID, session="a")
            keep_state(tmp_path / f"{name}.states")
        receipt = await (await memory.bank("ada")).forget(messages=["m1"])
        assert receipt.verified
        assert len(state_files(tmp_path)) == 1
        await memory.drop("ada")
        assert await memory.banks() == (other,)
        assert len(state_files(tmp_path)) == 1


async def test_a_bank_whose_states_cannot_be_removed_is_not_dropped(tmp_path, monkeypatch):
    folder = SqliteFolder(tmp_path)
    await folder.open("ada", embedder="hash-8", dimension=8)
    keep_state(tmp_path / "ada.states")
    with monkeypatch.context() as patch:
        patch.setattr(state_folders.shutil, "rmtree", lambda path, ignore_errors: None)
        with pytest.raises(StoreUnavailable, match=r"the bank 'ada' cannot be erased: ada.states"):
            await folder.drop("ada")
    assert await folder.names() == ("ada",)
    await folder.drop("ada")
    assert {path.name for path in tmp_path.iterdir()} <= {".recollect.lock", ".recollect.turns"}


async def test_each_bank_has_its_own_folder_and_only_where_a_model_keeps_states(tmp_path):
    folder = SqliteFolder(tmp_path)
    ada, bram = [await folder.open(name, embedder="hash-8", dimension=8) for name in ("ada", "bram")]
    plain = ModelPool(FunctionModel(lambda *_: "yes"), clock=lambda: NOW)
    assert plain.model_for(ada) is plain.model_for(ada)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    pool = ModelPool(RoleModels({ModelRole.ASSIST: Keeping()}, FunctionModel(lambda *_: "yes")), clock=lambda: NOW)
    folders = [pool.model_for(store)._model.model_for(ModelRole.ASSIST).folder for store in (ada, bram)]
    assert folders == [tmp_path / "ada.states", tmp_path / "bram.states"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["ada.states", "bram.states"]
    assert await folder.names() == ("ada", "bram")
    await folder.close()


async def test_a_bank_in_memory_has_no_states():
    folder = SqliteFolder(":memory:")
    store = await folder.open("ada", embedder="hash-8", dimension=8)
    keeping = Keeping()
    assert states_folder(store) is None
    assert ModelPool(keeping, clock=lambda: NOW).model_for(store)._model is keeping
    await folder.close()


def test_a_folder_that_cannot_be_looked_into_is_named(tmp_path, monkeypatch):
    bank = tmp_path / "ada.bank"
    keep_state(tmp_path / "ada.states")
    listed = Path.iterdir

    def refuse(self):
        if self.name == "ada.states":
            raise PermissionError(13, "no")
        return listed(self)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        patch.setattr(Path, "rename", lambda self, target: os.stat("/nowhere"))
        patch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
        (left,) = state_folders.erase_states(bank, remain=True)
    assert left.startswith("ada.states")
