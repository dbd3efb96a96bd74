"""``recollect demo --all``: the table, and what it says of answers nobody has judged."""

from datetime import UTC, datetime

import pytest
from click import unstyle

from recollect.domain.usage import Usage
from recollect_lab.cli import comparison as shown
from recollect_lab.datasets.dataset import DatasetQuestion
from recollect_lab.recordings import Verdict
from recollect_lab.rehearsals.comparison import RecipeComparison

AT = datetime(2024, 7, 20, tzinfo=UTC)


def line(recipe, *verdicts, fresh=True):
    return RecipeComparison(
        recipe=recipe,
        verdicts=verdicts,
        built=Usage(calls=3, tokens_in=12_000, tokens_out=345),
        asked=Usage(calls=4, tokens_in=1_500, tokens_out=100),
        steps=(2,) * len(verdicts),
        fresh=fresh,
    )


QUESTIONS = [
    DatasetQuestion(id=f"q{n}", text=f"What is {'very ' * 30}{n}?", category="temporal", at=AT) for n in (1, 2)
]


def test_a_row_tells_verdicts_tokens_calls_and_steps():
    block = unstyle(shown.format_summary([line("memr3", Verdict.RIGHT, Verdict.PARTLY)]))
    row = next(row for row in block.splitlines() if "memr3" in row)
    assert row.split() == ["memr3", "1", "1", "0", "12.3K", "800", "2.0", "2.0"]
    assert "*" not in block


def test_a_recording_that_does_not_fit_is_marked():
    block = unstyle(shown.format_summary([line("memr3", Verdict.RIGHT, Verdict.WRONG, fresh=False)]))
    assert "memr3*" in block
    assert "recollect recordings check" in " ".join(block.split())


def test_each_question_has_a_mark_for_each_recipe():
    lines = [line("memr3", Verdict.RIGHT, None), line("emem", Verdict.WRONG, Verdict.PARTLY)]
    rows = unstyle(shown.format_questions(lines, QUESTIONS)).splitlines()[1:3]
    assert [row.split()[:2] for row in rows] == [["✓", "✗"], ["?", "~"]]
    assert max(map(len, rows)) <= 80


@pytest.mark.parametrize("options", [("--all", "--recipe", "memr3"), ("--all", "--keep")])
def test_what_cannot_be_shown_together_is_wrong_usage(cli, options):
    assert cli("demo", *options).code == 2


def test_every_recipe_that_is_rehearsed_is_shown():
    from recollect_lab.cli.rehearsal import SHOWN_SECTIONS
    from recollect_lab.rehearsals.plans import PLANS

    assert SHOWN_SECTIONS.keys() == PLANS.keys()


@pytest.mark.timeout(300)
def test_all_of_them_end_to_end(cli, monkeypatch):
    monkeypatch.setattr(shown, "SHOWN_SECTIONS", {"memr3": "in a loop"})
    done = cli("demo", "--all")
    assert (done.code, done.err) == (0, "")
    assert "The model's replies are RECORDED" in done.out
    assert done.out.count("✓") >= 12
