import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "recollect", "demo"],
        capture_output=True,
        cwd=tmp_path_factory.mktemp("demo"),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return done.stdout.decode()


def test_it_is_plain_text_of_80_columns_in_a_pipe(shown):
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_seven_questions_are_asked_with_three_pieces_each(shown):
    assert len(re.findall(r"^\d\. .*\?  \d+ ms$", shown, re.M)) == 7
    assert len(re.findall(r"^  [ ✓] \d\.\d\d  \d{4}-\d\d-\d\d  ", shown, re.M)) == 21


def test_gold_is_marked_and_counted_honestly(shown):
    questions = re.split(r"^\d\. ", shown, flags=re.M)[1:]
    marked = sum("  ✓ " in question for question in questions)
    assert f"for {marked} of 6 questions" in shown
    assert "  ✓ " not in questions[6]


def test_forgetting_is_verified_and_times_are_told(shown):
    assert "verified: none of their words is left" in shown
    for step in ("open", "retain", "recall", "forget"):
        assert re.search(rf"^   {step} +\d+ ms", shown, re.M)
    assert "recollect retain chat.txt" in shown


def test_keep_says_where_the_store_is(cli, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = cli("demo", "--keep").out
    where = Path(re.search(r"--store (\S+)", out)[1])
    assert cli("recall", "Who looks after the cat?", "--bank", "sample", "--store", where).code == 0


def test_without_keep_nothing_stays(cli, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cli("demo").code == 0
    assert list(tmp_path.iterdir()) == []
