"""How an answer came about, as a story: iteration by iteration where a loop was gone through, else step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.cli.evidence import said
from recollect.cli.output import cut, faint, indented, one_line, strong, width

if TYPE_CHECKING:
    from recollect.domain.answers import Answer, Step
    from recollect.domain.loops import Finding, Gap, Round, Snippet, Trace

_MARGIN = "   "
_DEEPER = " " * 7
_LONGEST_ID = 28
_GIVEN = {"reflect": "thought", "answer": "draft"}
"""What a model gives with its decision, beside what is looked for."""


def story(question: str, answer: Answer) -> str:
    """The question, and all that was done for it, in order."""
    loop = answer.loop
    looped = 0 if loop is None else len(loop.rounds) + (loop.conclusion is not None)
    steps = answer.trace[: len(answer.trace) - looped]
    lines = [strong(indented(one_line(question), "", fold=True)), *map(_step, steps)]
    if loop is not None:
        lines += [line for one in loop.rounds for line in _round(one)]
        lines += _conclusion(loop)
    return "\n".join(lines)


def _step(step: Step) -> str:
    """A step in words, with what it took."""
    return _hung("·", f"{step.action}: {one_line(step.detail)}", _took(step.seconds))


def _round(one: Round) -> Iterator[str]:
    """An iteration: who or what decided, what is known and missing, what was thought, looked for and found."""
    yield _hung(f"{one.number}.", _decided(one), _took(one.seconds, one.usage.tokens_in + one.usage.tokens_out))
    if one.wanted is not None:
        yield from _state(one)
        if name := _GIVEN.get(one.wanted.value):
            yield _told(name, one.content)
    if one.query:
        yield _told("looked for", one.query)
        yield from map(_snippet, one.snippets)
        if not one.snippets and not one.failure:
            yield f"{_MARGIN}nothing new was found"
    if one.failure:
        yield _told("failed", one.failure)


def _state(one: Round) -> Iterator[str]:
    """What is known since the iteration, what is new of it marked, and what is missing."""
    for finding in one.after.evidence:
        yield _known(finding, new=finding in one.learnt)
    yield from map(_missing, one.after.gaps)
    if one.is_complete:
        yield f"{_MARGIN}nothing is missing"


def _decided(one: Round) -> str:
    """What was decided, and who or what did."""
    from recollect.domain.loops import REASONS

    if one.decision is None:
        return "nothing was decided"
    reason = f"{one.decision}: {REASONS[one.why]}"
    wish = f"; the model would have chosen to {one.wanted}" if one.wanted not in (None, one.decision) else ""
    return f"{reason}{wish}"


def _known(finding: Finding, *, new: bool) -> str:
    numbers = ", ".join(map(str, finding.snippets))
    return _hung(f"{_MARGIN}+" if new else f"{_MARGIN} ", f"known: {one_line(finding.fact)} [{numbers}]")


def _missing(gap: Gap) -> str:
    finer = " (only more exactly than it is known)" if gap.finer else ""
    return _hung(f"{_MARGIN}?", f"missing: {one_line(gap.missing)}{finer}")


def _snippet(one: Snippet) -> str:
    """A snippet on one line: its number, when it was said and by whom, if known, its first words, its id."""
    evidence = one.evidence
    by = f"{evidence.speaker}: " if evidence.speaker else ""
    head = f"{_DEEPER}[{one.number}] {said(evidence)} "
    room = width() - len(head)
    id_ = cut(evidence.id, min(_LONGEST_ID, room // 2))
    words = cut(f"{by}{evidence.text}", room - len(id_) - 2)
    return f"{head}{words}  {faint(id_)}"


def _conclusion(loop: Trace) -> Iterator[str]:
    """The call that wrote the answer."""
    if loop.conclusion is None:
        return
    took = _took(loop.seconds, loop.usage.tokens_in + loop.usage.tokens_out)
    yield _hung("=", f"concluded: {one_line(loop.conclusion)}", took)


def _told(name: str, words: str) -> str:
    return indented(f"{name}: {one_line(words)}", _MARGIN, fold=True)


def _took(seconds: float, tokens: int = 0) -> str:
    spent = f"{tokens:,} tokens, " if tokens else ""
    return f"({spent}{seconds:.2f} s)"


def _hung(mark: str, text: str, took: str = "") -> str:
    """A text that hangs from a mark at its left, with what it took at its end."""
    indent = " " * (len(mark) + 1)
    body = indented(f"{text}  {took}".rstrip(), indent, fold=True)
    return f"{mark} {body[len(indent) :]}"
