import json

import pytest

from benchmarks.routing import ALL, BM25, CHANCE, main

TALK = (
    "My kite is stuck in the old oak tree behind the school.",
    "We baked walnut bread this morning and burned the crust.",
    "The violin lesson was moved to Thursday afternoon again.",
    "Grandfather repaired the blue canoe with tar and patience.",
)


def data(folder):
    message = {"type": "message", "session": "s", "speaker": "Ada"}
    asked = {"type": "question", "category": "where"}
    lines = [
        {"type": "session", "id": "s", "at": "2024-01-01T10:00:00Z"},
        *({**message, "id": f"m{n}", "text": text} for n, text in enumerate(TALK)),
        {**asked, "id": "q1", "text": "Where is the kite stuck?", "evidence": ["m0"]},
        {**asked, "id": "q2", "text": "Who repaired the canoe with tar?", "evidence": ["m3"]},
        {**asked, "id": "q3", "text": "Is there anything else?"},
    ]
    file = folder / "tiny.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ["--dataset", "jsonl", "--data", str(file), "--length", "56", "--overlap", "34"]


def test_every_system_is_measured_at_every_tau(tmp_path, capsys):
    out = tmp_path / "routing.json"
    main([*data(tmp_path), "--tau", "1", "20", "--json", "--out", str(out)])
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads(out.read_text())
    systems = report["systems"]
    assert set(systems) == {ALL, "summary alone", "vector alone", "keyword alone", BM25, CHANCE}
    (count,) = report["segments"].values()
    assert count > 2
    for name, by_tau in systems.items():
        assert set(by_tau) == {"1", "20"}, name
        assert by_tau["1"]["evidence"]["n"] == 2, "a question without evidence is not asked"
        assert 0 < by_tau["1"]["tokens_read"] < 1
        assert (by_tau["1"]["less all pathways"] is None) == (name == ALL)
    assert systems[ALL]["1"]["evidence"]["mean"] == systems[BM25]["1"]["evidence"]["mean"] == 1.0
    assert systems[CHANCE]["1"]["evidence"]["mean"] == pytest.approx(1 / count)
    assert systems[CHANCE]["20"]["evidence"]["mean"] == 1.0
    settings = report["provenance"]["settings"]
    assert (settings["length"], settings["overlap"], settings["taus"]) == (56, 34, [1, 20])
    assert "load" in settings


def test_the_table_has_a_line_a_system(tmp_path, capsys):
    main([*data(tmp_path), "--tau", "1"])
    header, *lines = capsys.readouterr().out.strip().splitlines()
    assert header.startswith("system")
    assert len(lines) == 6


def test_a_tau_that_no_query_lets_through_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*data(tmp_path), "--tau", "21"])
    assert "--tau must be 1 to 20" in capsys.readouterr().err
