"""Forgetting reaches the replies that a cache keeps, whichever bank asked for them."""

from pathlib import Path

import pytest

from recollect import Memory, Message
from recollect.domain.receipts import Verification
from recollect.models.language import ModelRole, Prompt
from recollect.models.languages.cached import CachedModel
from recollect.models.languages.role_models import RoleModels
from recollect.testing.models import FunctionModel, HashEmbedder

SECRET = "the code is 90417355 and the lover is Xavier Quintrell"
REPLIES = {
    "quote": f"She said: {SECRET.upper()}!",
    "json": '{"answer": "her lover,\\nXavier Quintrell", "n": [1, {"a": "b"}]}',
    "escaped": '{"answer": "X\\u0061vier Quintrell"}',
    "clean": "She likes tea.",
    "words": "The code of the lover is secret.",
}


async def fill(folder, model=None):
    """A cache with one reply for each case."""
    cached = CachedModel(model or FunctionModel(lambda prompt, kind: REPLIES[prompt.text]), folder)
    for name in REPLIES:
        await cached.generate(Prompt(role=ModelRole.ANSWER, operation="test", subject="", system="", text=name), str)
    return cached


def kept(folder):
    return {file.read_text() for file in Path(folder).rglob("*") if file.is_file()}


def opened(tmp_path, **kw):
    return Memory.open(tmp_path / "store", embedder=HashEmbedder(), **kw)


async def forget(memory, **kw):
    async with memory:
        bank = await memory.bank("bank")
        await bank.retain(Message(id="m0", text=SECRET), session="s")
        await bank.retain(Message(id="m1", text="I like tea"), session="t")
        return await bank.forget(messages="m0", **kw)


@pytest.mark.parametrize("by", ["model", "role", "settings"])
async def test_replies_that_quote_are_removed(tmp_path, monkeypatch, by):
    cached = await fill(tmp_path / "cache")
    if by == "settings":  # no model is configured now
        monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
        memory = opened(tmp_path)
    else:
        memory = opened(
            tmp_path, model=cached if by == "model" else RoleModels({ModelRole.ANSWER: cached}, FunctionModel(str))
        )
    receipt = await forget(memory)
    assert (receipt.replies, receipt.verified) == (3, True)
    assert kept(tmp_path / "cache") == {REPLIES["clean"], REPLIES["words"]}


async def test_a_dry_run_and_a_missing_folder_remove_nothing(tmp_path):
    cached = await fill(tmp_path / "cache")
    assert (await forget(opened(tmp_path, model=cached), dry_run=True)).replies == 0
    assert kept(tmp_path / "cache") == set(REPLIES.values())
    nothing = CachedModel(FunctionModel(str), tmp_path / "none")
    receipt = await forget(opened(tmp_path, model=nothing))
    assert (receipt.messages, receipt.replies, receipt.verified) == (("m0",), 0, True)


async def test_a_reply_that_cannot_be_removed_is_a_leftover(tmp_path, monkeypatch):
    cached = await fill(tmp_path / "cache")

    def refuse(self, missing_ok=False):
        raise PermissionError(13, "no")

    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "unlink", refuse)
        receipt = await forget(opened_without_files(cached))
    assert (receipt.verification, len(receipt.leftovers)) == (Verification.WORDS_LEFT, 3)
    assert all(str(tmp_path / "cache") in file for file in receipt.leftovers)


def opened_without_files(model):
    return Memory.open(":memory:", embedder=HashEmbedder(), model=model)
