"""An answer and how it was made, whoever gives it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from recollect.answering.evidence import GatheredEvidence, format_moment
from recollect.domain.answers import Answer, AnswerReceipt, Step
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmStatus, Recall
from recollect.domain.usage import Usage
from recollect.models.language import LanguageModel, Prompt, Reply
from recollect.text.fencing import fence_text

T = TypeVar("T")

NOTHING_FOUND: Final = "Memory holds nothing on this."
NO_USAGE: Final = Usage()


def require_answer(answer: str, *, abstained: bool, citations: Sequence[object]) -> None:
    """Raises ValueError where a reply says nothing, or says something that it has from nowhere."""
    if not answer.strip():
        raise ValueError("the answer is empty; where memory does not hold it, abstain and say so")
    if not abstained and not citations:
        raise ValueError("the answer cites nothing: name the entries that it rests on, or abstain")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReply:
    """What a model answers from numbered entries; ``citations`` may be empty only where it abstains."""

    reasoning: str
    answer: str
    abstained: bool
    citations: tuple[int, ...]

    def __post_init__(self) -> None:
        require_answer(self.answer, abstained=self.abstained, citations=self.citations)


R = TypeVar("R", bound=CitedReply)


async def generate_answer(
    gathered: GatheredEvidence, prompt: Prompt, answer_type: type[R], model: LanguageModel, began: float
) -> Answer:
    """The answer of one call from what was gathered.

    Args:
        gathered: what the prompt shows; citations are its numbers.
        prompt: what is asked.
        answer_type: how the reply is called in the schema that the model sees.
        model: who is asked.
        began: the moment, on the performance counter, of the question.

    Raises:
        ModelError: the model failed.
    """

    def check(reply: R) -> None:
        gathered.require_entries(reply.citations)

    called = time.perf_counter()
    reply = await model.generate(prompt, answer_type, check=check)
    step = Step(action="answer", detail=reply.value.reasoning, seconds=time.perf_counter() - called)
    return Answer(
        text=reply.value.answer,
        abstained=reply.value.abstained,
        citations=gathered.cite(reply.value.citations),
        evidence=tuple(entry.evidence for entry in gathered.entries),
        trace=(gathered.describe(), step),
        receipt=build_receipt(gathered.recalls, [reply], began),
    )


def abstain_without_evidence(gathered: GatheredEvidence, began: float) -> Answer:
    """What is said where nothing was found; ``began`` is the moment, on the performance counter, of the question."""
    return Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=(),
        trace=(gathered.describe(),),
        receipt=build_receipt(gathered.recalls, (), began),
    )


def build_receipt(
    recalls: Sequence[Recall],
    replies: Sequence[Reply[Any]],
    began: float,
    notes: Sequence[str] = (),
    *,
    failed_usage: Usage = NO_USAGE,
) -> AnswerReceipt:
    """How an answer was made. What a recall could not do is a note: evidence may be missing for that alone.

    Args:
        recalls: what was looked for.
        replies: of the models that were asked.
        began: the moment, on the performance counter, of the question.
        notes: what else was left undone.
        lost: what calls cost that failed.
    """
    receipts = tuple(recall.receipt for recall in recalls)
    spent = [*(reply.usage for reply in replies), *(receipt.usage for receipt in receipts)]
    return AnswerReceipt(
        recalls=receipts,
        models=tuple(dict.fromkeys(reply.model for reply in replies)),
        usage=sum(spent, failed_usage),
        seconds=time.perf_counter() - began,
        notes=tuple(dict.fromkeys((*collect_recall_notes(recalls), *notes))),
    )


def collect_recall_notes(recalls: Sequence[Recall]) -> Iterator[str]:
    """What recalls could not do, in words."""
    for recall in recalls:
        for arm in recall.receipt.arms:
            if arm.status not in (ArmStatus.OK, ArmStatus.IDLE):
                yield f"the {arm.arm} arm of the recall did not answer ({arm.status.value}): {arm.note}"
        yield from recall.receipt.notes


def render_request(query: Query, gathered: GatheredEvidence) -> str:
    """The evidence, the present and the question, as the text of a prompt."""
    return f"{gathered.render()}\n\n{render_present(query)}\n\n{fence_text('question', query.text)}"


def render_present(query: Query) -> str:
    """The moment that the question is asked in."""
    return f"The present: {format_moment(query.now)}."
