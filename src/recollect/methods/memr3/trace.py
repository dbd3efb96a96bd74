"""What the loop did, in words for a reader (section 3.3: a trace that a user can follow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.answering.evidence import one_line
from recollect.domain.answers import Step
from recollect.domain.loops import REASONS, Decision, Reason, Round, Snippet, Trace

GENERATE: Final = "generate"
CONCLUDE: Final = "conclude"
"""What steps are called in which nothing was decided, since the generation failed, or all was."""


def steps_of(trace: Trace) -> tuple[Step, ...]:
    """What was done, in words."""
    steps = tuple(told(one) for one in trace.rounds)
    if trace.conclusion is None:
        return steps
    return (*steps, Step(action=CONCLUDE, detail=one_line(trace.conclusion), seconds=trace.seconds))


def told(one: Round) -> Step:
    """An iteration in words: what was learnt, what is missing, what was done about it."""
    parts = [*_learnt(one), _done(one)]
    return Step(action=one.decision or GENERATE, detail="; ".join(parts), seconds=one.seconds)


def _learnt(one: Round) -> Iterator[str]:
    """What the generation has changed, in words; nothing where there was none."""
    if one.wanted is None:
        return
    for finding in one.learnt:
        yield f"known now: {one_line(finding.fact)} {marks(finding.snippets)}"
    if one.after.gaps:
        yield f"missing: {', '.join(one_line(gap.missing) for gap in one.after.gaps)}"
    elif one.is_complete:
        yield "nothing is missing"


def _done(one: Round) -> str:
    if one.failure:
        return f"could not {one.decision or GENERATE}: {one_line(one.failure)}"
    spent = one.usage.tokens_in + one.usage.tokens_out
    cost = f" ({spent:,} tokens)" if spent else ""
    match one.decision:
        case Decision.RETRIEVE:
            return f"looked for {one_line(one.query)!r}: {_brought(one.snippets)}{_chosen(one)}{cost}"
        case Decision.REFLECT:
            thought = one_line(one.content) if one.wanted is Decision.REFLECT else "on what is known"
            return f"reflected: {thought}{_chosen(one)}{cost}"
        case _:
            return f"to be answered{_chosen(one)}{cost}"


def _chosen(one: Round) -> str:
    """Why it was done, where that was not the model's own choice."""
    if one.why in (Reason.MODEL, Reason.START):
        return ""
    return f", since {REASONS[one.why]}"


def _brought(snippets: Sequence[Snippet]) -> str:
    if not snippets:
        return "nothing new"
    return f"{len(snippets)} new {marks([snippet.number for snippet in snippets])}"


def marks(numbers: Sequence[int]) -> str:
    """Numbers of snippets as prompts and stories show them: "[1, 4]"."""
    return f"[{', '.join(map(str, numbers))}]"
