"""Show how an answer was found, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.cli.evidence import format_spoken_day
from recollect.cli.output import flatten_line, format_faint, format_strong, indent_text, terminal_width, truncate_text

if TYPE_CHECKING:
    from recollect.domain.answers import Answer, TraceLine, TraceStep
    from recollect.domain.recalls import Evidence

_MARGIN = "   "
_DEEPER = " " * 7
_LONGEST_ID = 28


def format_story(question: str, answer: Answer) -> str:
    """Return the question and everything that was done for it, in order."""
    lines = [format_strong(indent_text(flatten_line(question), "", fold=True))]
    lines += [line for step in answer.trace for line in _format_step(step)]
    return "\n".join(lines)


def _format_step(step: TraceStep) -> Iterator[str]:
    """Yield the lines of a step. The first one has its costs."""
    heading = step.lines[0] if step.lines else None
    mark, text = (heading.mark, heading.text) if heading else ("·", f"{step.action}: {step.detail}")
    tokens = step.usage.tokens_in + step.usage.tokens_out
    spent = f"{tokens:,} tokens, " if tokens else ""
    yield _hang_text(mark, flatten_line(text), f"({spent}{step.seconds:.2f} s)")
    yield from map(_format_line, step.lines[1:])


def _format_line(line: TraceLine) -> str:
    if line.evidence is not None:
        return _format_found(line.mark, line.evidence)
    text = flatten_line(line.text)
    return _hang_text(f"{_MARGIN}{line.mark}", text) if line.mark else indent_text(text, _MARGIN, fold=True)


def _format_found(mark: str, evidence: Evidence) -> str:
    """Return a piece of evidence on one line: its date, its speaker if known, its first words, and its id."""
    by = f"{evidence.speaker}: " if evidence.speaker else ""
    head = f"{_DEEPER}{mark} {format_spoken_day(evidence)} "
    room = terminal_width() - len(head)
    id_ = truncate_text(evidence.id, min(_LONGEST_ID, room // 2))
    words = truncate_text(f"{by}{evidence.text}", room - len(id_) - 2)
    return f"{head}{words}  {format_faint(id_)}"


def _hang_text(mark: str, text: str, took: str = "") -> str:
    """Return a text that is indented under a mark at its left. The text ends with its costs."""
    indent = " " * (len(mark) + 1)
    body = indent_text(f"{text}  {took}".rstrip(), indent, fold=True)
    return f"{mark} {body[len(indent) :]}"
