import json
import sqlite3
from contextlib import closing

import pytest

from recollect.store.sqlite.folder import SqliteFolder


def test_banks_are_listed_with_their_numbers(cli, filled):
    out = cli("banks").out
    assert out.splitlines()[0].split() == [
        "bank", "messages", "sessions", "items", "segments", "entities", "links", "first", "last", "embedder", "size",
    ]  # fmt: skip
    assert out.splitlines()[1].split()[:3] == ["default", "4", "2"]
    assert "2023-07-11" in out


def test_no_banks_is_no_error_and_makes_no_folder(cli, tmp_path):
    done = cli("banks")
    assert (done.code, done.out) == (0, "")
    assert "no banks in ./recollect-data" in done.err
    assert cli("banks", "--json").json() == []
    assert not (tmp_path / "recollect-data").exists()


def test_a_bank_of_another_embedder_is_listed(cli, filled, chat):
    assert cli("retain", chat, "--bank", "small", "--embedder", "wordllama-128").code == 0
    assert [bank["dimension"] for bank in cli("banks", "--json").json()] == [256, 128]


def test_a_damaged_bank_does_not_hide_the_others(cli, filled):
    (filled / "broken.bank").write_text("this is no bank, and it is long enough to be read as a header\n" * 40)
    done = cli("banks")
    assert done.code == 1
    assert "default" in done.out
    assert done.err.startswith("error: bank broken: ")


def test_a_bank_is_erased(cli, filled):
    assert cli("banks", "--drop", "default", "--yes", "--json").json() == {"dropped": "default"}
    assert cli("banks", "--json").json() == []
    assert cli("banks", "--drop", "default", "--yes").code == 1


def test_erasing_needs_yes(process, filled):
    assert process("banks", "--drop", "default").code == 2
    assert len(process("banks", "--json").json()) == 1


def test_export_and_import_give_the_same_bank(cli, filled):
    assert cli("export", "bank.jsonl").code == 0
    assert cli("import", "bank.jsonl", "--bank", "copy", "--json").json()["messages"] == 4

    def evidence(bank):
        found = cli("recall", "When did Ada adopt Toby?", "--bank", bank, "--json").json()
        return [(one["id"], round(one["score"], 4)) for one in found["evidence"]]

    assert evidence("copy") == evidence("default")


def test_export_to_a_pipe_and_import_from_one(process, filled):
    exported = process("export", "-")
    assert exported.code == 0
    assert {json.loads(line)["type"] for line in exported.out.splitlines()} >= {"bank", "message", "item"}
    done = process("import", "-", "--bank", "copy", "--embedder", "wordllama-128", stdin=exported.out.encode())
    assert (done.code, done.out) == (0, "imported 4 messages and 4 items into bank copy\n")


def test_a_failed_export_leaves_no_file(cli, filled, tmp_path):
    assert cli("export", "out.jsonl", "--bank", "nope").code == 1
    assert not list(tmp_path.glob("out.jsonl*"))


@pytest.mark.parametrize("lines", ["hello\n", '{"type": "message"}\n', ""])
def test_what_is_no_export_is_refused_and_leaves_no_bank(cli, filled, lines):
    done = cli("import", "-", "--bank", "new", stdin=lines)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert [bank["name"] for bank in cli("banks", "--json").json()] == ["default"]


def test_a_damaged_export_leaves_no_half_bank(cli, filled):
    assert cli("export", "bank.jsonl").code == 0
    with open("bank.jsonl", "a", encoding="utf-8") as out:
        out.write("{\n")
    done = cli("import", "bank.jsonl", "--bank", "new")
    assert done.code == 1
    assert "error: line " in done.err
    assert cli("recall", "Toby", "--bank", "new").code == 1


def test_import_into_a_full_bank_is_refused(cli, filled):
    assert cli("export", "bank.jsonl").code == 0
    done = cli("import", "bank.jsonl")
    assert done.code == 1
    assert "is not empty" in done.err
    assert cli("banks", "--json").json()[0]["messages"] == 4


def test_rebuild_changes_the_embedder(cli, filled):
    refused = cli("recall", "Toby", "--embedder", "wordllama-128")
    assert refused.code == 1
    assert "recollect rebuild default" in refused.err
    assert cli("rebuild", "default", "--embedder", "wordllama-128", "--json").json()["dimension"] == 128
    assert cli("recall", "Toby", "--embedder", "wordllama-128").code == 0
    assert cli("rebuild", "nope").code == 1


def test_merges_are_listed_and_undone(cli):
    texts = ("I met Marta Kowalska at the market. Marta Kowalska is nice.", "Marta Kowalskaa sold a lamp to me.")
    lines = [{"speaker": "Ada", "text": text} for text in texts]
    assert cli("retain", "-", stdin="".join(json.dumps(line) + "\n" for line in lines)).code == 0
    merges = cli("merges", "--json").json()
    assert [merge["surface"] for merge in merges] == ["Marta Kowalskaa"]
    assert "Marta Kowalskaa" in cli("merges").out
    undone = cli("merges", "--undo", merges[0]["id"])
    assert (undone.code, undone.out) == (0, "undone: 'Marta Kowalskaa' has a separate entity now\n")
    assert cli("merges", "--undo", merges[0]["id"]).code == 1
    assert cli("merges", "--json").json()[0]["undone"]


def test_no_merges(cli, filled):
    done = cli("merges")
    assert (done.code, done.out, done.err) == (0, "", "no merges in bank default\n")


def test_a_bank_that_has_outgrown_exact_search_is_told_of(cli, filled, monkeypatch):
    monkeypatch.setattr("recollect.store.index.vectors.GRAPH_LIBRARY", "no_such_library")
    monkeypatch.setitem(SqliteFolder.__init__.__kwdefaults__, "graph_from", 4)
    done = cli("banks")
    assert done.code == 0
    assert done.err.startswith("bank default: the bank has 4 items")
    assert "recollect[hnsw]" in done.err


def test_a_bank_gets_vectors_and_loses_them_by_rebuilding(cli, chat):
    assert cli("retain", chat, "--embedder", "none").code == 0
    done = cli("banks")
    assert (done.code, "bank default: the bank holds no vectors" in done.err) == (0, True)
    refused = cli("recall", "Toby")
    assert refused.code == 1
    assert "holds no vectors" in refused.err
    receipt = cli("recall", "Toby", "--embedder", "none", "--json").json()["receipt"]
    assert [arm["status"] for arm in receipt["arms"] if arm["arm"] == "semantic"] == ["idle"]
    assert (
        cli("rebuild", "default", "--embedder", "wordllama").out
        == "embedded 4 items of bank default with wordllama-256\n"
    )
    assert cli("recall", "Toby").code == 0
    assert cli("rebuild", "default", "--embedder", "none").out == "removed the vectors of 4 items of bank default\n"
    assert cli("recall", "Toby", "--embedder", "none").code == 0


def test_a_bank_is_backed_up_and_restored(cli, filled, tmp_path):
    assert cli("backup", "default", "one.backup").out.startswith("copied bank default to one.backup: 4 messages and 4")
    receipt = cli("backup", "default", "two.backup", "--json").json()
    assert (receipt["bank"], receipt["file"], receipt["messages"]) == ("default", "two.backup", 4)
    assert cli("restore", "one.backup", "copy").out == "restored bank copy: 4 messages and 4 items\n"
    assert cli("banks", "--drop", "default", "--yes").code == 0
    assert cli("restore", "two.backup", "--json").json()["name"] == "default"
    assert cli("recall", "Who adopted Toby?", "--bank", "copy").code == 0
    for command in (("backup", "default", "one.backup"), ("restore", "one.backup")):
        done = cli(*command)
        assert (done.code, done.out) == (1, "")
        assert "is not replaced" in done.err
    assert cli("restore", "nothing").code == 1
    assert cli("backup", "nobody", "three.backup").code == 1


def test_a_bank_without_its_log_says_so_until_that_is_accepted(cli, filled):
    (filled / "copy.bank").write_bytes((filled / "default.bank").read_bytes())
    with closing(sqlite3.connect(filled / "copy.bank", isolation_level=None)) as connection:
        connection.execute("UPDATE file_state SET in_use = 1")  # as in a file that was copied while it was open
    assert not (filled / "copy.bank-wal").exists()
    done = cli("recall", "Toby", "--bank", "copy")
    assert done.code == 0
    assert "the bank is not complete: the newest writes may be missing" in done.err
    assert "bank copy: the newest writes may be missing" in cli("banks").err
    assert cli("recall", "Toby", "--bank", "copy", "--json").json()["receipt"]["losses"]
    assert cli("banks", "--accept-losses", "copy", "--drop", "copy").code == 2
    assert cli("banks", "--accept-losses", "copy").out == "accepted what bank copy lacks\n"
    assert cli("banks", "--accept-losses", "copy", "--json").json() == {"accepted": "copy"}
    assert cli("banks", "--accept-losses", "nobody").code == 1
    assert "missing" not in cli("banks").err
    assert "not complete" not in cli("recall", "Toby", "--bank", "copy").err
