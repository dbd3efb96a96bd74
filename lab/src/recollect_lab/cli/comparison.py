"""The command ``recollect demo --all``: it compares the recipes on the same questions, with recorded replies of a
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from recollect.cli.output import flatten_line, format_table, indent_text, print_line, terminal_width, truncate_text
from recollect.cli.runtime import run
from recollect_lab.cli.memory_blocks import INDENT, format_section
from recollect_lab.cli.rehearsal import SHOWN_SECTIONS, print_progress, require_adapter

if TYPE_CHECKING:
    from recollect_lab.datasets.dataset import DatasetQuestion
    from recollect_lab.recordings import Verdict
    from recollect_lab.rehearsals.comparison import RecipeComparison

NOT_JUDGED: Final = "?"
MARKS: Final = {"right": "✓", "partly": "~", "wrong": "✗"}


def show_comparison() -> None:
    """Replay every shipped rehearsal, and show how each recipe answered the common questions.

    Raises:
        MissingExtra: the packages that talk to models are not installed.
        ModelUnavailable: a reply is not recorded, and the run cannot continue without it.
    """
    require_adapter()
    questions = _load_questions()
    print_line(format_introduction(len(questions)))
    lines = [run(_compare(name)) for name in SHOWN_SECTIONS]
    for block in (format_summary(lines), format_questions(lines, questions)):
        print_line(f"\n{block}")


async def _compare(name: str) -> RecipeComparison:
    from recollect_lab.rehearsals.comparison import compare_recipe, replay_rehearsal

    print_progress(f"{name} …")
    return compare_recipe(name, await replay_rehearsal(name, lambda text: None))


def _load_questions() -> list[DatasetQuestion]:
    from recollect.sample import sample_path
    from recollect_lab.datasets.jsonl import load_jsonl
    from recollect_lab.rehearsals.plans import TWELVE_QUESTIONS

    with sample_path() as path:
        known = {question.id: question for question in load_jsonl(path).conversations[0].questions}
    return [known[id_] for id_ in TWELVE_QUESTIONS]


def format_introduction(questions: int) -> str:
    """Return the introduction: what the demo shows, and which part of it is recorded."""
    return indent_text(
        f"A year of conversations between Ada and Bram, "
        f"stored {len(SHOWN_SECTIONS)} times, once by each recipe, "
        f"and asked the same {questions} questions.\n"
        "The model's replies are RECORDED, written by hand as a good model might; the answers were "
        "judged by hand too. They show how the recipes work and what each one asks for, not how good a model is.",
        "",
        fold=True,
    )


def format_summary(lines: Sequence[RecipeComparison]) -> str:
    """Return one row for each recipe: how many answers are right, and what they cost."""
    from recollect_lab.recordings import Verdict

    rows: list[tuple[str, ...]] = [("recipe", "right", "partly", "wrong", "to build", "a question", "calls", "steps")]
    for one in lines:
        asked = len(one.verdicts)
        rows.append(
            (
                one.recipe + ("" if one.fresh else "*"),
                *(str(one.count(verdict)) for verdict in Verdict),
                _format_tokens(one.built.tokens_in + one.built.tokens_out),
                _format_tokens((one.asked.tokens_in + one.asked.tokens_out) / asked),
                f"{one.asked.calls / asked:.1f}",
                f"{sum(one.steps) / asked:.1f}",
            )
        )
    told = [
        "Tokens to build the memory and per question; calls and steps per question. A token is taken as 4 characters."
    ]
    if not all(one.fresh for one in lines):
        told.append("* some replies were recorded for other prompts: see recollect recordings check NAME")
    return format_section(
        "Side by side", [indent_text(format_table(rows, right=range(1, 8)), INDENT), *map(_format_note, told)]
    )


def format_questions(lines: Sequence[RecipeComparison], questions: Sequence[DatasetQuestion]) -> str:
    """Return one row for each question: how each recipe answered it."""
    rows = []
    for at, question in enumerate(questions):
        marks = " ".join(_format_mark(one.verdicts[at]) for one in lines)
        rows.append(
            f"{marks}  {truncate_text(question.text, max(terminal_width() - len(INDENT) - len(marks) - 2, 20))}"
        )
    names = ", ".join(one.recipe for one in lines)
    told = f"✓ right, ~ partly, ✗ wrong, {NOT_JUDGED} not judged; from left to right: {names}."
    return format_section("By question", [indent_text("\n".join(rows), INDENT), _format_note(told)])


def _format_mark(verdict: Verdict | None) -> str:
    return NOT_JUDGED if verdict is None else MARKS[verdict]


def _format_note(text: str) -> str:
    return indent_text(flatten_line(text), INDENT, fold=True)


def _format_tokens(number: float) -> str:
    """Return a number of tokens for a reader, such as "0", "850" or "12.3K"."""
    return f"{number / 1000:.1f}K" if number >= 1000 else f"{number:.0f}"
