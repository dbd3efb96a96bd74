"""Show how an answer was found, as a story: one part for each iteration of a loop, or else one for each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.cli.evidence import format_spoken_day
from recollect.cli.output import flatten_line, format_faint, format_strong, indent_text, terminal_width, truncate_text

if TYPE_CHECKING:
    from recollect.domain.answers import Answer, Step
    from recollect.domain.traces import Finding, Gap, LoopRound, LoopTrace, Snippet

_MARGIN = "   "
_DEEPER = " " * 7
_LONGEST_ID = 28
_CONTENT_NAMES = {"reflect": "thought", "answer": "draft"}
"""The words for the content that a model returns with its decision."""


def format_story(question: str, answer: Answer) -> str:
    """Return the question and everything that was done for it, in order."""
    loop = answer.loop
    looped = 0 if loop is None else len(loop.rounds) + (loop.conclusion is not None)
    steps = answer.trace[: len(answer.trace) - looped]
    lines = [format_strong(indent_text(flatten_line(question), "", fold=True)), *map(_format_step, steps)]
    if loop is not None:
        lines += [line for one in loop.rounds for line in _format_round(one)]
        lines += _format_conclusion(loop)
    return "\n".join(lines)


def _format_step(step: Step) -> str:
    """Return a step in words, with the time that it took."""
    return _hang_text("·", f"{step.action}: {flatten_line(step.detail)}", _format_cost(step.seconds))


def _format_round(one: LoopRound) -> Iterator[str]:
    """Yield the lines of an iteration.

    They show what was decided and by whom, what is known and missing, the thought or draft, the search, and its
    results.
    """
    yield _hang_text(
        f"{one.number}.", _format_decision(one), _format_cost(one.seconds, one.usage.tokens_in + one.usage.tokens_out)
    )
    if one.wanted is not None:
        yield from _format_state(one)
        if name := _CONTENT_NAMES.get(one.wanted.value):
            yield _format_field(name, one.content)
    if one.query:
        yield _format_field("looked for", one.query)
        yield from map(_format_snippet, one.snippets)
        if not one.snippets and not one.failure:
            yield f"{_MARGIN}nothing new was found"
    if one.failure:
        yield _format_field("failed", one.failure)


def _format_state(one: LoopRound) -> Iterator[str]:
    """Yield what is known after the iteration, with new findings marked, and what is missing."""
    for finding in one.after.evidence:
        yield _format_finding(finding, new=finding in one.new_findings)
    yield from map(_format_gap, one.after.gaps)
    if one.is_complete:
        yield f"{_MARGIN}nothing is missing"


def _format_decision(one: LoopRound) -> str:
    """Return the decision, its reason, and what the model would have chosen if that is different."""
    from recollect.domain.traces import DECISION_REASONS

    if one.decision is None:
        return "nothing was decided"
    reason = f"{one.decision}: {DECISION_REASONS[one.why]}"
    wish = f"; the model would have chosen to {one.wanted}" if one.wanted not in (None, one.decision) else ""
    return f"{reason}{wish}"


def _format_finding(finding: Finding, *, new: bool) -> str:
    numbers = ", ".join(map(str, finding.snippets))
    return _hang_text(f"{_MARGIN}+" if new else f"{_MARGIN} ", f"known: {flatten_line(finding.fact)} [{numbers}]")


def _format_gap(gap: Gap) -> str:
    finer = " (it is known, but not exactly enough)" if gap.finer else ""
    return _hang_text(f"{_MARGIN}?", f"missing: {flatten_line(gap.missing)}{finer}")


def _format_snippet(one: Snippet) -> str:
    """Return a snippet on one line: its number, its date, its speaker if known, its first words, and its id."""
    evidence = one.evidence
    by = f"{evidence.speaker}: " if evidence.speaker else ""
    head = f"{_DEEPER}[{one.number}] {format_spoken_day(evidence)} "
    room = terminal_width() - len(head)
    id_ = truncate_text(evidence.id, min(_LONGEST_ID, room // 2))
    words = truncate_text(f"{by}{evidence.text}", room - len(id_) - 2)
    return f"{head}{words}  {format_faint(id_)}"


def _format_conclusion(loop: LoopTrace) -> Iterator[str]:
    """Yield the line of the call that wrote the answer."""
    if loop.conclusion is None:
        return
    took = _format_cost(loop.seconds, loop.usage.tokens_in + loop.usage.tokens_out)
    yield _hang_text("=", f"concluded: {flatten_line(loop.conclusion)}", took)


def _format_field(name: str, words: str) -> str:
    return indent_text(f"{name}: {flatten_line(words)}", _MARGIN, fold=True)


def _format_cost(seconds: float, tokens: int = 0) -> str:
    spent = f"{tokens:,} tokens, " if tokens else ""
    return f"({spent}{seconds:.2f} s)"


def _hang_text(mark: str, text: str, took: str = "") -> str:
    """Return a text that is indented under a mark at its left. The text ends with its costs."""
    indent = " " * (len(mark) + 1)
    body = indent_text(f"{text}  {took}".rstrip(), indent, fold=True)
    return f"{mark} {body[len(indent) :]}"
