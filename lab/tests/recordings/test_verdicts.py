"""Verdicts count for the answers that they were given on, and for no others."""

import json

import pytest

from recollect.errors import InvalidInput
from recollect_lab.recordings import Verdict, load_verdicts

JUDGED = {"q1": {"answer": "Porto", "verdict": "right"}, "q2": {"answer": "No", "verdict": "partly"}}


def write(folder, value):
    (folder / "verdicts.json").write_text(json.dumps(value), "utf-8")


def test_an_answer_that_has_changed_is_not_judged(tmp_path):
    write(tmp_path, JUDGED)
    assert load_verdicts(tmp_path, {"q1": "Porto", "q2": "Yes", "q3": "?"}) == {"q1": Verdict.RIGHT}


def test_without_verdicts_nothing_is_judged(tmp_path):
    assert load_verdicts(tmp_path, {"q1": "Porto"}) == {}


@pytest.mark.parametrize("broken", [[1], {"q1": "right"}, {"q1": {"answer": "x", "verdict": "brilliant"}}, {"q1": {}}])
def test_what_is_no_verdict_is_refused(tmp_path, broken):
    write(tmp_path, broken)
    with pytest.raises(InvalidInput, match=r"verdicts\.json"):
        load_verdicts(tmp_path, {})
