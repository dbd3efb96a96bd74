"""Names of banks: another spelling of a name is never another bank."""

import asyncio
import os
import subprocess
import sys
import textwrap

import pytest

from recollect import Memory, Message
from recollect.errors import BankNameTaken, BankNotFound
from recollect.store.names import find_name, name_key
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder

COMPOSED, DECOMPOSED = "Ren\u00e9", "Rene\u0301"
HOW = {"embedder": "e", "dimension": 8}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada", "Ada"),
        ("ada", "ADA"),
        ("straße", "STRASSE"),
        ("straße", "Strasse"),
        (COMPOSED, DECOMPOSED),
        ("é", "E\u0301"),
    ],
)
def test_spellings_of_one_name_share_a_key(one, other):
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(("one", "other"), [("ada", "adá"), ("ada", "ada "), ("ılık", "ilik"), ("a.b", "a-b")])
def test_other_names_have_other_keys(one, other):
    assert name_key(one) != name_key(other)


def test_a_name_that_is_there_is_found_even_beside_another_spelling():
    assert find_name("Ada", ("ada", "Ada")) == "Ada"
    assert find_name("bram", ("ada", "Ada")) is None
    with pytest.raises(BankNameTaken) as caught:
        find_name("ADA", ("ada",))
    assert caught.value.bank == "ada"


@pytest.mark.parametrize("where", ["folder", ":memory:"])
@pytest.mark.parametrize(("first", "other"), [("Ada", "ada"), ("straße", "STRASSE")])
async def test_another_spelling_is_refused_and_names_the_bank(tmp_path, where, first, other):
    folder = tmp_path if where == "folder" else where
    async with Memory.open(folder, embedder=HashEmbedder()) as memory:
        bank = await memory.bank(first)
        await bank.retain(Message(text="I adopted Toby."), session="s")
        for create in (True, False):
            with pytest.raises(BankNameTaken, match=f"there is a bank '{first}'"):
                await memory.bank(other, create=create)
        with pytest.raises(BankNameTaken):
            await memory.drop(other)
        with pytest.raises(BankNameTaken):
            await memory.info(other)
        assert await memory.banks() == (first,)
        assert len(await (await memory.bank(first)).messages()) == 1
        await memory.drop(first)
        assert (await memory.bank(other)).name == other, "the name is free again"


async def test_unicode_forms_of_a_name_are_one_bank(tmp_path):
    stores = SqliteFolder(tmp_path)
    assert await stores.open(COMPOSED, **HOW) is await stores.open(DECOMPOSED, **HOW)
    assert await stores.names() == (COMPOSED,)
    await stores.close()


async def test_a_file_whose_name_is_decomposed_is_that_bank(tmp_path):
    """Some file systems, and what copies files from them, give names in that form."""
    stores = SqliteFolder(tmp_path)
    await stores.open(COMPOSED, **HOW)
    await stores.close()
    for ending in ("bank", "bank-ack"):
        (tmp_path / f"{COMPOSED}.{ending}").rename(tmp_path / f"{DECOMPOSED}.{ending}")
    stores = SqliteFolder(tmp_path)
    assert await stores.names() == (COMPOSED,)
    assert (await stores.open(COMPOSED, create=False, **HOW)).name == COMPOSED
    with pytest.raises(BankNameTaken):
        await stores.open(COMPOSED.upper(), **HOW)
    await stores.drop(COMPOSED)
    await stores.close()
    assert [file.name for file in tmp_path.iterdir() if file.name[0] != "."] == []


async def test_pairs_that_are_there_are_both_read_by_their_own_names(tmp_path):
    stores = SqliteFolder(tmp_path)
    for number, name in enumerate(("ada", COMPOSED)):
        await (await stores.open(name, **HOW)).commit(settings(name, number))
    await stores.close()
    (tmp_path / "Ada.bank").write_bytes((tmp_path / "ada.bank").read_bytes())
    (tmp_path / f"{DECOMPOSED}.bank").write_bytes((tmp_path / f"{COMPOSED}.bank").read_bytes())
    if len(list(tmp_path.glob("*.bank"))) < 4:
        pytest.skip("this file system does not tell the names apart")
    stores = SqliteFolder(tmp_path)
    assert await stores.names() == tuple(sorted(("ada", "Ada", COMPOSED, DECOMPOSED)))
    for name in await stores.names():
        store = await stores.open(name, create=False, **HOW)
        assert store.name == name
        await store.commit(settings("own", name))
    for name in await stores.names():
        assert await (await stores.open(name, **HOW)).setting("own") == name
    with pytest.raises(BankNameTaken):
        await stores.open("ADA", **HOW)
    await stores.drop("Ada")
    await stores.drop(DECOMPOSED)
    assert set(await stores.names()) == {"ada", COMPOSED}
    await stores.close()


async def test_where_the_file_system_does_not_tell_cases_apart_the_listing_decides(tmp_path):
    """Here two names are links to one file, which is what such a file system answers."""
    stores = SqliteFolder(tmp_path)
    await (await stores.open("ada", **HOW)).release()
    os.link(tmp_path / "ada.bank", tmp_path / "ada.BANK")
    other = SqliteFolder(tmp_path)
    assert (await other.open("ada", create=False, **HOW)).name == "ada"
    with pytest.raises(BankNameTaken):
        await other.open("Ada", **HOW)
    await stores.close()
    await other.close()


async def test_a_bank_that_is_not_there_is_told_with_some_that_are(tmp_path):
    for number in range(25):
        (tmp_path / f"b{number:02}.bank").touch()
    stores = SqliteFolder(tmp_path)
    with pytest.raises(BankNotFound, match=r"there are: b00, .*, b19 and 5 more"):
        await stores.open("ada", create=False, **HOW)
    await stores.close()


async def test_tasks_that_create_two_spellings_at_once_make_one_bank(tmp_path):
    for where in (tmp_path, ":memory:"):
        stores = SqliteFolder(where)
        names = ("Ada", "ada", "ADA", "aDa")
        made = await asyncio.gather(*(stores.open(name, **HOW) for name in names), return_exceptions=True)
        assert sum(isinstance(one, BankNameTaken) for one in made) == 3
        assert len(await stores.names()) == 1
        await stores.close()


CREATE = textwrap.dedent(
    """
    import asyncio, sys
    from recollect.errors import BankNameTaken
    from recollect.store.sqlite.folder import SqliteFolder

    async def main(folder, spelled):
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(20):
            try:
                await SqliteFolder(folder).open(spelled.format(number), embedder="e", dimension=8)
            except BankNameTaken:
                print("taken", number, flush=True)
        print("done", flush=True)

    asyncio.run(main(*sys.argv[1:]))
    """
)


def test_processes_that_create_two_spellings_at_once_make_one_bank(tmp_path):
    run = [sys.executable, "-c", CREATE, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*run, spelled], **pipes) for spelled in ("Ada{}", "ada{}")]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=60)[0].split() for process in both]
    assert all(words[-1] == "done" for words in told)
    assert sum(words.count("taken") for words in told) == 20
    assert len(list(tmp_path.glob("*.bank"))) == 20


def settings(key, value):
    from recollect.domain.changes import Changeset

    return Changeset(settings=((key, str(value)),))
