import json

import pytest

from benchmarks.engine import FIRST, Report, growth, main
from benchmarks.machine import folder_mb, peak_rss_mb, quantile, rss_mb


def test_a_small_run_prints_one_json_object_and_nothing_else(capsys, tmp_path):
    out = tmp_path / "new" / "engine.json"
    main(["--items", "200", "--batch", "100", "--queries", "10", "--singles", "3", "--json", "--out", str(out)])
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads(out.read_text())
    (row,) = report["rows"]
    assert tuple(row)[: len(FIRST)] == FIRST
    assert row["items"] == 200
    assert row["found@10"] > 0.5
    assert {"ingest_last_per_s", "single_retain_ms", "first_recall_s"} <= row.keys()
    assert {"first_recall_stall_ms", "recall_stall_ms", "retain_stall_ms"} <= row.keys()
    assert all(row[name] > 0 for name in FIRST)
    assert report["growth"] == {}
    assert report["provenance"]["settings"]["queries"] == 10
    assert len(report["provenance"]["dataset"]["sha256"]) == 64


def test_growth_is_between_neighbouring_sizes():
    rows = [{"items": 100, "recall_p50_ms": 2.0}, {"items": 1000, "recall_p50_ms": 3.0}]
    assert growth(rows) == {"100 to 1000": {"items": 10.0, "recall_p50_ms": 1.5}}


def test_the_table_has_a_line_a_size_and_one_a_step():
    report = Report(rows=({"items": 100, "recall_p50_ms": 2.0}, {"items": 200, "recall_p50_ms": 3.0}), provenance={})
    header, first, second, grown = report.to_table().splitlines()
    assert header.split()[:3] == ["items", "ingest_per_s", "recall_p50_ms"]
    assert first.split()[:3] == ["100", "-", "2"]
    assert second.split()[:3] == ["200", "-", "3"]
    assert grown.split()[:2] == ["x", "2.00"]


def test_a_size_is_positive(capsys):
    with pytest.raises(SystemExit):
        main(["--items", "0"])
    assert "0 is not 1 or more" in capsys.readouterr().err


def test_memory_and_files_are_in_megabytes(tmp_path):
    (tmp_path / "file").write_bytes(bytes(2_000_000))
    assert folder_mb(tmp_path) == 2.0
    assert 5 < rss_mb() <= peak_rss_mb() * 1.05 < 100_000


def test_quantiles_are_values_that_were_measured():
    assert quantile([5, 1, 4, 2, 3], 0.5) == 3
    assert quantile([1, 2], 1.0) == 2
    assert quantile([7], 0.95) == 7
