import json

import pytest

from benchmarks.toolgraph import ToolGraph
from benchmarks.tools import CALLS, main
from recollect.domain.items import ItemKind
from recollect.testing.models import HashEmbedder


def test_a_small_run_measures_every_call_and_says_where_it_comes_from(capsys, tmp_path):
    out = tmp_path / "new" / "tools.json"
    main(["--facts", "40", "--calls", "4", "--json", "--out", str(out)])
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads(out.read_text())
    assert [row["call"] for row in report["rows"]] == list(CALLS)
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in report["rows"])
    shown = {row["call"]: row["shown"] for row in report["rows"]}
    assert shown.pop("find_entity_contexts, unknown") == 0
    assert shown["semantic_retrieve"] == 20  # ten gists and ten facts
    assert shown["find_gist_contexts"] >= 4
    assert all(shown[name] > 0 for name in ("lexical_retrieve", "find_entity_contexts, subject"))
    assert report["provenance"]["settings"]["calls"] == 4
    assert len(report["provenance"]["dataset"]["sha256"]) == 64


def test_the_table_has_a_line_a_call(capsys):
    main(["--facts", "8", "--calls", "1"])
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["facts", "call", "p50_ms", "p95_ms", "cpu_p50_ms", "shown"]
    assert len(lines) == len(CALLS)


def test_a_size_is_positive(capsys):
    with pytest.raises(SystemExit):
        main(["--facts", "0"])
    assert "0 is not 1 or more" in capsys.readouterr().err


async def test_the_bank_that_is_measured_is_the_same_each_time_and_as_large_as_it_says():
    graph = ToolGraph(facts=400)
    changes = await graph.changeset(HashEmbedder(), range(graph.messages))
    kinds = [entry.item.kind for entry in changes.items]
    assert (kinds.count(ItemKind.TRIPLE), kinds.count(ItemKind.GIST)) == (400, 100)
    assert graph.fingerprint == ToolGraph(facts=400).fingerprint != ToolGraph(facts=400, seed=1).fingerprint
    subjects = [graph.fact(number).subject for number in range(400)]
    assert subjects.count("E0") > 3 * len(subjects) / len(set(subjects))  # some are talked of far more than others
