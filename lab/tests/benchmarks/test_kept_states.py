"""The benchmark of kept states, on a model so small that it takes a moment."""

from __future__ import annotations

import json

import pytest

from benchmarks.states import SHAPES, main


def test_the_large_shape_is_that_of_a_model_of_four_billion():
    shape = SHAPES["4b"]
    attention = 2 * shape.hidden * shape.head_length * (shape.heads + shape.key_heads)
    layer = attention + 3 * shape.hidden * shape.intermediate + 2 * shape.hidden + 2 * shape.head_length
    assert shape.layers * layer + shape.hidden * (shape.vocabulary + 1) == 4_022_468_096  # Qwen3-4B's own count
    assert 2 * 2 * shape.layers * shape.key_heads * shape.head_length == 144 * 1024  # bytes of a token's state


@pytest.mark.heavy
def test_every_length_is_measured_both_ways_and_comes_to_the_same(tmp_path, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    out = tmp_path / "states.json"
    main(["--shape", "tiny", "--tokens", "128", "64", "--repeats", "2", "--device", "cpu", "--out", str(out)])
    report = json.loads(out.read_text("utf-8"))
    assert [row["tokens"] for row in report["rows"]] == [64, 128]
    assert all(row["same_logits"] for row in report["rows"])
    assert all(row["reencode_s"] > 0 and row["restore_s"] > 0 for row in report["rows"])
    layout = SHAPES["tiny"]
    least = 2 * 4 * layout.layers * layout.key_heads * layout.head_length * 128 / 1e6  # float32 keys and values
    assert least < report["rows"][1]["state_mb"] < 1.1 * least
    assert report["provenance"]["settings"]["device_name"] == "CPU"
    assert report["provenance"]["settings"]["torch"]
    assert capsys.readouterr().out.splitlines()[0].startswith("tokens")
