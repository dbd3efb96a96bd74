import json

from benchmarks.retrieval import main

LINES = [
    {"type": "session", "id": "s", "at": "2024-01-01T10:00:00Z"},
    {"type": "message", "id": "m1", "session": "s", "speaker": "Ada", "text": "I adopted Toby from the shelter."},
    {"type": "message", "id": "m2", "session": "s", "speaker": "Bram", "text": "The radiator is cold again."},
    {"type": "message", "id": "m3", "session": "s", "speaker": "Ada", "text": "Miso the cat hides from him."},
    {
        "type": "question",
        "id": "q1",
        "text": "Whom did Ada adopt from the shelter?",
        "category": "who",
        "evidence": ["m1"],
    },
    {"type": "question", "id": "q2", "text": "Which cat hides?", "category": "who", "evidence": ["m3"]},
]


def data(folder):
    file = folder / "tiny.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return ["--dataset", "jsonl", "--data", str(file)]


def test_all_systems_answer_the_same_questions(tmp_path, capsys):
    out = tmp_path / "retrieval.json"
    main([*data(tmp_path), "--json", "--out", str(out)])
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert systems == json.loads(out.read_text())["systems"]
    assert next(iter(systems)) == "recollect"
    assert len(systems) == 9
    for name, report in systems.items():
        assert report["counts"]["asked"] == 2, name
        assert not report["errors"], name
        assert report["provenance"]["dataset"]["name"], name
        assert (report["recall@10 less ours"] is None) == (name == "recollect")
    assert systems["recollect"]["metrics"]["recall@10"]["mean"] == 1.0
    assert systems["BM25"]["metrics"]["recall@10"]["mean"] == 1.0
    # It names no time, so that an arm that looks for times alone finds nothing, and says so by a 0.
    assert systems["only the temporal arm"]["metrics"]["recall@10"]["mean"] == 0.0


def test_the_table_has_a_line_a_system(tmp_path, capsys):
    main([*data(tmp_path), "--depth", "10"])
    header, *lines = capsys.readouterr().out.strip().splitlines()
    assert header.startswith("system")
    assert len(lines) == 9
