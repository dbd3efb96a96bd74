"""Make answers and their receipts, for all responders."""

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
from recollect.ports import Listener
from recollect.text.fencing import fence_text

T = TypeVar("T")

NOTHING_FOUND: Final = "Memory holds nothing on this."
NO_USAGE: Final = Usage()


def require_answer(answer: str, *, abstained: bool, citations: Sequence[object]) -> None:
    """Raise ValueError if a reply is empty, or if it does not abstain and cites nothing."""
    if not answer.strip():
        raise ValueError("the answer is empty; where memory does not hold it, abstain and say so")
    if not abstained and not citations:
        raise ValueError("the answer cites nothing: name the entries that it rests on, or abstain")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReply:
    """A model's reply to numbered entries. ``citations`` may be empty only if it abstains."""

    reasoning: str
    answer: str
    abstained: bool
    citations: tuple[int, ...]

    def __post_init__(self) -> None:
        require_answer(self.answer, abstained=self.abstained, citations=self.citations)


R = TypeVar("R", bound=CitedReply)


async def generate_answer(
    gathered: GatheredEvidence,
    prompt: Prompt,
    answer_type: type[R],
    model: LanguageModel,
    *,
    listener: Listener,
    began: float,
) -> Answer:
    """Answer with one call of a model from the gathered evidence.

    Args:
        gathered: the evidence in the prompt. Citations are its numbers.
        prompt: the prompt.
        answer_type: the type of the reply. The model sees its JSON schema.
        model: the model to call.
        listener: receives the step of this call.
        began: the time of the question on the performance counter.

    Raises:
        ModelError: the model failed.
    """

    def check(reply: R) -> None:
        gathered.require_entries(reply.citations)

    called = time.perf_counter()
    reply = await model.generate(prompt, answer_type, check=check)
    seconds = time.perf_counter() - called
    step = Step(action="answer", detail=reply.value.reasoning, seconds=seconds, usage=reply.usage)
    listener(step)
    return Answer(
        text=reply.value.answer,
        abstained=reply.value.abstained,
        citations=gathered.cite(reply.value.citations),
        evidence=tuple(entry.evidence for entry in gathered.entries),
        trace=(gathered.describe(), step),
        receipt=build_receipt(gathered.recalls, [reply], began),
    )


def abstain_without_evidence(gathered: GatheredEvidence, began: float) -> Answer:
    """Return the answer if nothing was found. ``began`` is the time of the question on the performance counter."""
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
    """Return the receipt of an answer. Failures of the recalls become notes, because they may be why evidence is
    missing.

    Args:
        recalls: the recalls for the answer.
        replies: the replies of the models.
        began: the time of the question on the performance counter.
        notes: other notes on what was not done.
        failed_usage: the cost of calls that failed.
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
    """Yield the failures and the notes of recalls, in words."""
    for recall in recalls:
        for arm in recall.receipt.arms:
            if arm.status not in (ArmStatus.OK, ArmStatus.IDLE):
                yield f"the {arm.arm} arm of the recall did not answer ({arm.status.value}): {arm.note}"
        yield from recall.receipt.notes


def render_request(query: Query, gathered: GatheredEvidence) -> str:
    """Return the text of a prompt: the evidence, the present and the question."""
    return f"{gathered.render()}\n\n{render_present(query)}\n\n{fence_text('question', query.text)}"


def render_present(query: Query) -> str:
    """Return the line of a prompt that tells the present of the question."""
    return f"The present: {format_moment(query.now)}."
