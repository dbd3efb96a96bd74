"""Format answers, opinions and observations for a reader. Knowledge and beliefs always look different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.evidence import describe_kind, format_evidence
from recollect.cli.output import flatten_line, format_count, format_faint, format_strong, format_table, indent_text

if TYPE_CHECKING:
    from recollect.domain.answers import Answer, Citation, TraceStep
    from recollect.domain.items import Item
    from recollect.domain.opinions import Opinion, OpinionStep

_MARGIN = "   "
_OPINION_ACTION = "opinion"


def format_answer(answer: Answer) -> str:
    """Return the answer, its citations and the opinions that it formed. Without an answer, return the evidence."""
    if not answer.text:
        return "\n".join(format_evidence(rank, piece) for rank, piece in enumerate(answer.evidence, start=1))
    parts = [indent_text(answer.text, "", fold=True)]
    parts += [_format_citation(citation) for citation in answer.citations]
    parts += [_format_formed_opinion(step) for step in answer.trace if step.action == _OPINION_ACTION]
    return "\n".join(parts)


def format_answer_receipt(answer: Answer) -> str:
    """Return the steps of an answer and their costs."""
    receipt = answer.receipt
    rows = [
        (flatten_line(step.action), f"{step.seconds * 1e3:.0f} ms", flatten_line(step.detail)) for step in answer.trace
    ]
    usage = receipt.usage
    spent = (
        f"{format_count(usage.calls, 'call')} to {flatten_line(', '.join(receipt.models)) or 'no model'}; "
        f"{usage.tokens_in:,} tokens in ({usage.tokens_cached:,} cached), {usage.tokens_out:,} out; "
        f"{receipt.seconds:.2f} s"
    )
    return f"\n{format_table(rows, right=(1,))}\n{spent}"


def format_opinion(opinion: Opinion, *, history: bool) -> str:
    """Return an opinion with its confidence. ``history`` adds the steps that led to this confidence."""
    about = f"about {', '.join(opinion.entities)} · " if opinion.entities else ""
    head = _format_headed(f"{opinion.confidence:.2f}", opinion.text)
    foot = indent_text(f"believed since {opinion.formed:%Y-%m-%d} · {about}{opinion.id}", _MARGIN, fold=True)
    steps = [_format_opinion_step(step) for step in opinion.steps] if history else []
    return "\n".join([head, format_faint(foot), *steps])


def format_observation(observation: Item) -> str:
    """Return a neutral summary and the number of its facts."""
    foot = f"known from {format_count(len(observation.derived_from), 'fact')} · {observation.id}"
    return f"{indent_text(observation.text, '', fold=True)}\n{format_faint(indent_text(foot, _MARGIN, fold=True))}"


def _format_opinion_step(step: OpinionStep) -> str:
    """Return a step of an opinion: its date, the new confidence, its assessment, the words, and the evidence for it."""
    head = f"{step.at:%Y-%m-%d}  {step.confidence:.2f}  {step.assessment.value}: {step.text}"
    moved = f"by {', '.join(step.evidence) or 'nothing that is still kept'}"
    return f"{indent_text(head, _MARGIN, fold=True)}\n{format_faint(indent_text(moved, _MARGIN * 2, fold=True))}"


def _format_citation(citation: Citation) -> str:
    text = indent_text(f"{describe_kind(citation.kind)}: {citation.text}", _MARGIN, fold=True)
    return f"{text}\n{format_faint(indent_text(f'{citation.id} · {_format_names(citation.sources)}', _MARGIN * 2))}"


def _format_formed_opinion(step: TraceStep) -> str:
    return indent_text(f"believed since this question, {step.detail}", _MARGIN, fold=True)


def _format_names(ids: tuple[str, ...]) -> str:
    return ", ".join(ids)


def _format_headed(head: str, text: str) -> str:
    """Return a text whose lines are indented under its bold head."""
    body = indent_text(text, " " * (len(head) + 2), fold=True)
    return f"{format_strong(head)}{body[len(head) :]}"
