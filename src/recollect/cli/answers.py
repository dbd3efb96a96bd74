"""Answers as a reader sees them: what is known and what is believed are never printed alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.evidence import evidence_block, standing
from recollect.cli.output import count, faint, indented, one_line, strong, table

if TYPE_CHECKING:
    from recollect.domain.answers import Answer, Citation, Step
    from recollect.domain.items import Item
    from recollect.domain.opinions import Opinion, OpinionStep

_MARGIN = "   "
_FORMING = "opinion"


def answer_block(answer: Answer) -> str:
    """The answer, what it rests on, what is believed since; and the evidence where there is no answer to print."""
    if not answer.text:
        return "\n".join(evidence_block(rank, piece) for rank, piece in enumerate(answer.evidence, start=1))
    parts = [indented(answer.text, "", fold=True)]
    parts += [_cited(citation) for citation in answer.citations]
    parts += [_formed(step) for step in answer.trace if step.action == _FORMING]
    return "\n".join(parts)


def answer_receipt(answer: Answer) -> str:
    """The steps that were taken, and what they cost."""
    receipt = answer.receipt
    rows = [(one_line(step.action), f"{step.seconds * 1e3:.0f} ms", one_line(step.detail)) for step in answer.trace]
    usage = receipt.usage
    spent = (
        f"{count(usage.calls, 'call')} to {one_line(', '.join(receipt.models)) or 'no model'}; "
        f"{usage.tokens_in:,} tokens in ({usage.tokens_cached:,} cached), {usage.tokens_out:,} out; "
        f"{receipt.seconds:.2f} s"
    )
    return f"\n{table(rows, right=(1,))}\n{spent}"


def opinion_block(opinion: Opinion, *, history: bool) -> str:
    """An opinion with its confidence, and how it came to that."""
    about = f"about {', '.join(opinion.entities)} · " if opinion.entities else ""
    head = _headed(f"{opinion.confidence:.2f}", opinion.text)
    foot = indented(f"believed since {opinion.formed:%Y-%m-%d} · {about}{opinion.id}", _MARGIN, fold=True)
    steps = [_step(step) for step in opinion.steps] if history else []
    return "\n".join([head, faint(foot), *steps])


def observation_block(observation: Item) -> str:
    """A neutral summary, and how many facts it rests on."""
    foot = f"known from {count(len(observation.derived_from), 'fact')} · {observation.id}"
    return f"{indented(observation.text, '', fold=True)}\n{faint(indented(foot, _MARGIN, fold=True))}"


def _step(step: OpinionStep) -> str:
    """A step of a trajectory: when, how firmly from then on, what made it, the words, what moved it."""
    head = f"{step.at:%Y-%m-%d}  {step.confidence:.2f}  {step.assessment.value}: {step.text}"
    moved = f"by {', '.join(step.evidence) or 'nothing that is still kept'}"
    return f"{indented(head, _MARGIN, fold=True)}\n{faint(indented(moved, _MARGIN * 2, fold=True))}"


def _cited(citation: Citation) -> str:
    text = indented(f"{standing(citation.kind)}: {citation.text}", _MARGIN, fold=True)
    return f"{text}\n{faint(indented(f'{citation.id} · {_names(citation.sources)}', _MARGIN * 2))}"


def _formed(step: Step) -> str:
    return indented(f"believed since this question, {step.detail}", _MARGIN, fold=True)


def _names(ids: tuple[str, ...]) -> str:
    return ", ".join(ids)


def _headed(head: str, text: str) -> str:
    """A text that hangs from its bold head."""
    body = indented(text, " " * (len(head) + 2), fold=True)
    return f"{strong(head)}{body[len(head) :]}"
