"""Describe in words what the loop did, for a reader (section 3.3: a trace that a user can follow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.answering.evidence import join_lines
from recollect.domain.answers import Step
from recollect.domain.traces import DECISION_REASONS, DecisionReason, LoopDecision, LoopRound, LoopTrace, Snippet

GENERATE: Final = "generate"
CONCLUDE: Final = "conclude"
"""The names of steps without a decision, because the generation failed or everything was already decided."""


def describe_rounds(trace: LoopTrace) -> tuple[Step, ...]:
    """Return the steps of the loop and of the answer, in words."""
    steps = tuple(describe_round(one) for one in trace.rounds)
    if trace.conclusion is None:
        return steps
    return (*steps, Step(action=CONCLUDE, detail=join_lines(trace.conclusion), seconds=trace.seconds))


def describe_round(one: LoopRound) -> Step:
    """Describe an iteration as a step: what became known, what is missing, and what was done."""
    parts = [*_describe_changes(one), _describe_action(one)]
    return Step(action=one.decision or GENERATE, detail="; ".join(parts), seconds=one.seconds)


def _describe_changes(one: LoopRound) -> Iterator[str]:
    """Yield in words what the generation has changed. Yield nothing if there was no generation."""
    if one.wanted is None:
        return
    for finding in one.new_findings:
        yield f"known now: {join_lines(finding.fact)} {format_numbers(finding.snippets)}"
    if one.after.gaps:
        yield f"missing: {', '.join(join_lines(gap.missing) for gap in one.after.gaps)}"
    elif one.is_complete:
        yield "nothing is missing"


def _describe_action(one: LoopRound) -> str:
    if one.failure:
        return f"could not {one.decision or GENERATE}: {join_lines(one.failure)}"
    spent = one.usage.tokens_in + one.usage.tokens_out
    cost = f" ({spent:,} tokens)" if spent else ""
    match one.decision:
        case LoopDecision.RETRIEVE:
            return (
                f"looked for {join_lines(one.query)!r}: {_describe_snippets(one.snippets)}{_describe_reason(one)}{cost}"
            )
        case LoopDecision.REFLECT:
            thought = join_lines(one.content) if one.wanted is LoopDecision.REFLECT else "on what is known"
            return f"reflected: {thought}{_describe_reason(one)}{cost}"
        case _:
            return f"to be answered{_describe_reason(one)}{cost}"


def _describe_reason(one: LoopRound) -> str:
    """Return the reason for the action in words. It is empty for the model's own choice and for the first retrieval."""
    if one.why in (DecisionReason.MODEL, DecisionReason.START):
        return ""
    return f", since {DECISION_REASONS[one.why]}"


def _describe_snippets(snippets: Sequence[Snippet]) -> str:
    if not snippets:
        return "nothing new"
    return f"{len(snippets)} new {format_numbers([snippet.number for snippet in snippets])}"


def format_numbers(numbers: Sequence[int]) -> str:
    """Return numbers of snippets as prompts and traces show them: "[1, 4]"."""
    return f"[{', '.join(map(str, numbers))}]"
