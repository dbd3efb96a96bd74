"""``recollect demo --all``: the recipes side by side on the same questions, with recorded replies of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from recollect.cli.output import cut, indented, one_line, say, table, width
from recollect.cli.running import run
from recollect_lab.cli.made import INDENT, headed
from recollect_lab.cli.rehearsal import SHOWN, require_adapter, tell

if TYPE_CHECKING:
    from recollect_lab.datasets.dataset import Question
    from recollect_lab.recordings import Verdict
    from recollect_lab.rehearsals.comparison import Compared

NOT_JUDGED: Final = "?"
MARKS: Final = {"right": "✓", "partly": "~", "wrong": "✗"}


def show_comparison() -> None:
    """Replay every shipped rehearsal, and show how each recipe answered the questions that all are asked.

    Raises:
        MissingExtra: what talks to models is not installed.
        ModelUnavailable: a reply that a run cannot go on without is not recorded.
    """
    require_adapter()
    questions = _questions()
    say(introduction(len(questions)))
    lines = [run(_compared(name)) for name in SHOWN]
    for block in (summary_block(lines), questions_block(lines, questions)):
        say(f"\n{block}")


async def _compared(name: str) -> Compared:
    from recollect_lab.rehearsals.comparison import compared, replayed

    tell(f"{name} …")
    return compared(name, await replayed(name, lambda text: None))


def _questions() -> list[Question]:
    from recollect.sample import sample_path
    from recollect_lab.datasets.jsonl import load
    from recollect_lab.rehearsals.plans import TWELVE

    with sample_path() as path:
        known = {question.id: question for question in load(path).conversations[0].questions}
    return [known[id_] for id_ in TWELVE]


def introduction(questions: int) -> str:
    """What is about to be seen, and what of it is a recording."""
    return indented(
        f"A year of talk between Ada and Bram, kept {len(SHOWN)} times, once by each recipe, and asked the same "
        f"{questions} questions.\n"
        "The model's replies are RECORDED, written by hand as a good model might; whether an answer is right was "
        "judged by hand too. They show how the recipes work and what each one asks for, not how good a model is.",
        "",
        fold=True,
    )


def summary_block(lines: Sequence[Compared]) -> str:
    """A row a recipe: how many answers are right, and what it cost to get there."""
    from recollect_lab.recordings import Verdict

    rows: list[tuple[str, ...]] = [("recipe", "right", "partly", "wrong", "to build", "a question", "calls", "steps")]
    for one in lines:
        asked = len(one.verdicts)
        rows.append(
            (
                one.recipe + ("" if one.fresh else "*"),
                *(str(one.count(verdict)) for verdict in Verdict),
                _tokens(one.built.tokens_in + one.built.tokens_out),
                _tokens((one.asked.tokens_in + one.asked.tokens_out) / asked),
                f"{one.asked.calls / asked:.1f}",
                f"{sum(one.steps) / asked:.1f}",
            )
        )
    told = ["Tokens to build the memory and for a question; calls and steps a question. A quarter of the characters."]
    if not all(one.fresh for one in lines):
        told.append("* in part replies to other prompts: recollect recordings check NAME")
    return headed("Side by side", [indented(table(rows, right=range(1, 8)), INDENT), *map(_note, told)])


def questions_block(lines: Sequence[Compared], questions: Sequence[Question]) -> str:
    """A row a question: how each recipe answered it."""
    rows = []
    for at, question in enumerate(questions):
        marks = " ".join(_mark(one.verdicts[at]) for one in lines)
        rows.append(f"{marks}  {cut(question.text, max(width() - len(INDENT) - len(marks) - 2, 20))}")
    names = ", ".join(one.recipe for one in lines)
    told = f"✓ right, ~ partly, ✗ wrong, {NOT_JUDGED} not judged; from left to right: {names}."
    return headed("By question", [indented("\n".join(rows), INDENT), _note(told)])


def _mark(verdict: Verdict | None) -> str:
    return NOT_JUDGED if verdict is None else MARKS[verdict]


def _note(text: str) -> str:
    return indented(one_line(text), INDENT, fold=True)


def _tokens(number: float) -> str:
    """Tokens for a reader: "0", "850", "12.3K"."""
    return f"{number / 1000:.1f}K" if number >= 1000 else f"{number:.0f}"
