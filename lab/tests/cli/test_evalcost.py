import json

import pytest

AGAIN = "The old oven died again while the bread was rising."
LINES = [
    {"type": "session", "id": "s1", "at": "2023-07-11T18:00:00Z"},
    *({"type": "message", "id": f"m{n}", "session": "s1", "speaker": "Ada", "text": AGAIN} for n in range(5)),
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), "utf-8")
    return path


def test_json_is_one_object_with_provenance(process, data, tmp_path):
    chosen = ("--system", "recmem@3", "--system", "eager", "--system", "eager", "--theta-sim", "0.9")
    done = process("eval", "cost", "--dataset", "jsonl", "--data", data, *chosen, "--json")
    assert (done.code, done.err) == (0, "")
    report = done.json()
    assert list(report["systems"]) == ["recmem@3", "eager"]
    assert report["systems"]["eager"]["calls"] == 3
    assert report["systems"]["recmem@3"]["operations"]["recmem.episodes"]["calls"] == 1
    settings = report["provenance"]["settings"]
    assert settings["systems"] == ["recmem@3", "eager"]
    assert (settings["embedder"], settings["theta_sim"]) == ("wordllama-256", 0.9)
    assert not (tmp_path / "recollect-data").exists()


def test_the_usual_systems_are_compared(cli, data):
    done = cli("eval", "cost", "--dataset", "jsonl", "--data", data, "--limit", "1")
    assert done.code == 0
    heads = [line.split()[0] for line in done.out.splitlines()[:9]]
    assert heads == ["a", "recmem", "recmem@3", "recmem@4", "recmem@5", "recmem@6", "eager", "remem", "hindsight"]


def test_limits_of_the_environment_are_no_concern_of_it(cli, data, monkeypatch):
    monkeypatch.setenv("RECOLLECT_LIMITS", "1/day")
    done = cli("eval", "cost", "--dataset", "jsonl", "--data", data, "--system", "recmem@3", "--json")
    assert done.json()["systems"]["recmem@3"]["problems"] == {}
    assert done.json()["systems"]["recmem@3"]["calls"] > 0


@pytest.mark.parametrize(
    "wrong",
    [("--dataset", "csv"), ("--limit", "0"), ("--system", "stew"), ("--system", "eager@3"), ("--theta-sim", "7")],
)
def test_wrong_usage_has_status_2(cli, data, wrong):
    assert cli("eval", "cost", "--dataset", "jsonl", "--data", data, *wrong).code == 2
