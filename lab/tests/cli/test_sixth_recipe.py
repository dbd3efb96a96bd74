"""A recipe of somebody else's package is measured as ours are."""

import json
import os
import subprocess
import sys
from pathlib import Path

LINES = [
    {"type": "session", "id": "s1", "at": "2023-07-11T18:00:00Z"},
    {"type": "message", "id": "m1", "session": "s1", "speaker": "Ada", "text": "I adopted Toby from the shelter."},
    {"type": "message", "id": "m2", "session": "s1", "speaker": "Bram", "text": "The oven died."},
    {"type": "question", "id": "q1", "text": "Who adopted Toby?", "category": "single", "evidence": ["m1"]},
]
SOURCE = Path(__file__).parents[3] / "tests" / "packages" / "recollect_sixth" / "src"


def test_retrieval_of_another_packages_recipe_is_measured(tmp_path):
    info = tmp_path / "site" / "recollect_sixth-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recollect-sixth\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[recollect.recipes]\nsixth = recollect_sixth:SIXTH\n")
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in LINES), "utf-8")
    command = ["-m", "recollect", "eval", "retrieval", "--dataset", "jsonl", "--data", str(data), "--recipe", "sixth"]
    done = subprocess.run(
        [sys.executable, *command, "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), str(SOURCE)])},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["metrics"]["recall@5"]["mean"] == 1.0
    assert report["provenance"]["settings"]["recipe"] == "sixth"
