import json

import pytest

LINES = [
    {"type": "session", "id": "s1", "at": "2023-07-11T18:00:00Z"},
    {"type": "message", "id": "m1", "session": "s1", "speaker": "Ada", "text": "I adopted Toby from the shelter."},
    {"type": "message", "id": "m2", "session": "s1", "speaker": "Bram", "text": "The oven died."},
    {"type": "question", "id": "q1", "text": "Who adopted Toby?", "category": "single", "evidence": ["m1"]},
    {"type": "question", "id": "q2", "text": "What died?", "category": "single", "evidence": ["m2"]},
    {"type": "question", "id": "q3", "text": "Who sang?", "category": "none", "evidence": []},
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), "utf-8")
    return path


def test_json_is_one_object_with_provenance(process, data, tmp_path):
    done = process("eval", "retrieval", "--dataset", "jsonl", "--data", data, "--arms", "lexical", "--json")
    assert (done.code, done.err) == (0, "")
    report = done.json()
    assert report["metrics"]["recall@5"]["mean"] == 1.0
    assert report["counts"]["asked"] == 2
    assert report["size"]["index_mb"] > 0
    settings = report["provenance"]["settings"]
    assert settings["arms"] == ["lexical"]
    assert settings["embedder"] == "wordllama-256"
    assert settings["weights"]["meaning"] > 0
    assert not (tmp_path / "recollect-data").exists()


def test_the_table_and_the_rows(cli, data, tmp_path):
    done = cli("eval", "retrieval", "--dataset", "jsonl", "--data", data, "--limit", "1", "--rows", "rows.jsonl")
    assert "recall@10" in done.out
    (row,) = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert json.loads(row)["question"] == "q1"


def test_the_store_of_memories_is_not_touched(process, data, tmp_path):
    env = {"RECOLLECT_STORE": "memories"}
    assert process("eval", "retrieval", "--dataset", "jsonl", "--data", data, env=env).code == 0
    assert not (tmp_path / "memories").exists()


def test_banks_are_kept_where_a_folder_is_given(cli, data, tmp_path):
    assert cli("eval", "retrieval", "--dataset", "jsonl", "--data", data, "--store", "kept").code == 0
    assert (tmp_path / "kept" / "0001.bank").exists()
    done = cli("eval", "retrieval", "--dataset", "jsonl", "--data", data, "--store", "kept")
    assert (done.code, "not empty" in done.err) == (1, True)


@pytest.mark.parametrize(
    "wrong",
    [("--dataset", "csv"), ("--limit", "0"), ("--depth", "0"), ("--effort", "huge"), ("--recipe", "stew")],
)
def test_wrong_usage_has_status_2(cli, data, wrong):
    assert cli("eval", "retrieval", "--dataset", "jsonl", "--data", data, *wrong).code == 2


def test_a_file_that_cannot_be_read_is_an_error(cli, data):
    data.write_text("{}\n")
    done = cli("eval", "retrieval", "--dataset", "jsonl", "--data", data)
    assert done.code == 1
    assert done.err.startswith("error: line 1")
    assert cli("eval", "retrieval", "--dataset", "jsonl", "--data", "nowhere").code == 1
