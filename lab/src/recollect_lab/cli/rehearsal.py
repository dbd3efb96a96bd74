"""The command ``recollect demo --recipe NAME``: it shows a recipe at work on a year of conversations.

Recorded replies take the place of a model.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from recollect.cli.evidence import describe_kind
from recollect.cli.output import (
    flatten_line,
    format_count,
    format_faint,
    format_strong,
    format_table,
    indent_text,
    print_line,
    print_note,
    terminal_width,
    truncate_text,
)
from recollect.cli.runtime import run
from recollect.errors import MissingExtra
from recollect_lab.cli.memory_blocks import DEEPER, INDENT, format_line, format_memory, format_section

if TYPE_CHECKING:
    from recollect.domain.usage import Cost, Usage
    from recollect_lab.recordings import ReplayReport
    from recollect_lab.rehearsals.rehearsal import AnsweredQuestion, RehearsalResult

SHOWN_SECTIONS: Mapping[str, str] = {
    "hindsight": "facts are read in the background and summed up as observations, and an agent with a character of its "
    "own reflects and answers",
    "remem": "gists and facts are read with their times, and an agent searches them with one tool at a time",
    "remem_single": "gists and facts are read with their times, and a question is answered from them in one pass",
    "memr3": "messages are kept as they are, and a question is answered in a loop that tracks what is missing",
    "emem": "messages are kept in overlapping segments, and small assistants read these again for each question",
    "recmem": "messages are kept as they are, and episodes are written about what recurs",
    "default": "messages are kept as they are, and episodes are written about what recurs; a question is answered in "
    "one pass, in a loop if something is missing, or from whole passages if it needs them",
}
"""Descriptions of what each demo shows, by the name of the recipe."""

ANSWERS, ABSTENTIONS = 5, 2
"""The number of each that are shown."""


def show_rehearsal(name: str) -> None:
    """Replay the shipped recording through the real adapter, and show the results.

    Raises:
        MissingExtra: the packages that talk to models are not installed.
        ModelUnavailable: a reply is not recorded, and the run cannot continue without it.
    """
    from recollect_lab.rehearsals.comparison import replay_rehearsal

    require_adapter()
    print_line(format_introduction(name))
    replay = run(replay_rehearsal(name, print_progress))
    for block in format_result(replay.result, replay.report, name):
        print_line(f"\n{block}")


def require_adapter() -> None:
    """Raise MissingExtra before the run begins if the packages for models are missing, because later every job would
    fail.
    """
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        raise MissingExtra("pydantic-ai-slim", "models")


def print_progress(text: str) -> None:
    """Report the progress of a run, if stderr is a terminal."""
    if sys.stderr.isatty():
        print_note(text)


def format_introduction(name: str) -> str:
    """Return the introduction: what the demo shows, and which part of it is recorded."""
    return indent_text(
        f"The recipe {name} on a year of conversations between Ada and Bram: {SHOWN_SECTIONS[name]}.\n"
        "The model's replies are RECORDED. They are replayed on this machine, by the adapter that asks a real model. "
        "Everything else happens now.",
        "",
        fold=True,
    )


def format_result(result: RehearsalResult, report: ReplayReport, name: str) -> list[str]:
    """Return the results of the run, each with a heading."""
    answers = _select_answers(result.asked)
    parts = [
        _format_replies(report, name),
        *format_memory(result, answers),
        format_answers(answers, result.asked),
        format_abstentions(result.asked),
        format_costs(result),
    ]
    if result.problems:
        parts.append(
            format_section(f"{format_count(len(result.problems), 'job')} failed", map(format_line, result.problems))
        )
    return [part for part in parts if part]


def _format_replies(report: ReplayReport, name: str) -> str:
    fit = report.summary.capitalize()
    if report.is_fresh:
        return fit
    return f"{fit}: some of the results below come from replies to other prompts.\nrecollect recordings check {name}"


def format_answers(answers: Sequence[AnsweredQuestion], asked: Sequence[AnsweredQuestion]) -> str:
    """Return some answers with their citations, and how near all answers come to the known ones."""
    scored = [one for one in asked if not one.should_abstain]
    if not scored:
        return ""
    f1 = sum(one.f1 for one in scored) / len(scored)
    title = f"Asked after facts: {format_count(len(scored), 'question')} with a known answer, mean token F1 {f1:.2f}"
    return format_section(title, [_format_answer(one) for one in answers])


def format_abstentions(asked: Sequence[AnsweredQuestion]) -> str:
    """Return questions whose answer nobody said."""
    due = [one for one in asked if one.should_abstain]
    if not due:
        return ""
    right = sum(one.answer.abstained for one in due)
    title = f"Asked what nobody said: {right} of {len(due)} times it said so"
    return format_section(title, [_format_answer(one) for one in due[:ABSTENTIONS]])


def format_costs(result: RehearsalResult) -> str:
    """Return the tokens by role, as the recorded endpoint counted them, and the time that recollect itself took."""
    spent = sum_by_role(result.costs)
    rows = [("role", "calls", "tokens in", "cached", "tokens out")] + [
        (role, f"{used.calls:,}", f"{used.tokens_in:,}", f"{used.tokens_cached:,}", f"{used.tokens_out:,}")
        for role, used in spent.items()
    ]
    waited = sum(used.seconds for used in spent.values())
    ours = f"{max(result.seconds - waited, 0.0):.1f} s without the model, {waited:.1f} s waiting for recorded replies"
    return format_section("It cost", [indent_text(format_table(rows, right=(1, 2, 3, 4)), INDENT), format_line(ours)])


def sum_by_role(costs: Iterable[Cost]) -> dict[str, Usage]:
    """Return the usage of each role, summed over all operations and models."""
    spent: dict[str, Usage] = {}
    for cost in costs:
        spent[cost.role] = spent[cost.role] + cost.usage if cost.role in spent else cost.usage
    return spent


def _select_answers(asked: Sequence[AnsweredQuestion]) -> list[AnsweredQuestion]:
    """Return the first answer of each category, right or wrong."""
    chosen: dict[str, AnsweredQuestion] = {}
    for one in asked:
        if not one.should_abstain:
            chosen.setdefault(one.question.category, one)
    return list(chosen.values())[:ANSWERS]


def _format_answer(one: AnsweredQuestion) -> str:
    question, answer = one.question, one.answer
    parts = [
        f"{INDENT}{format_strong(flatten_line(question.text))}",
        indent_text(answer.text, DEEPER, fold=True),
        format_faint(indent_text(f"known answer: {question.answer or 'none'}", DEEPER, fold=True)),
    ]
    parts += [
        format_faint(
            DEEPER + truncate_text(f"{describe_kind(citation.kind)}: {citation.text}", terminal_width() - len(DEEPER))
        )
        for citation in answer.citations[:2]
    ]
    return "\n".join(parts)
