"""Answering from memory (Hindsight, section 6.1): typed, cited, and silent where memory is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from recollect.domain.answers import Answer, AnswerReceipt, Step
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmStatus
from recollect.domain.usage import Usage
from recollect.methods.hindsight.evidence import (
    SECTIONS_EXPLAINED,
    EvidenceSettings,
    Gathered,
    gather,
    weekday_and_time,
)
from recollect.methods.parts import Parts
from recollect.models.language import Prompt, Reply, Role
from recollect.ports import Response
from recollect.store.protocol import StoreReader
from recollect.text.fence import DATA_RULE, fenced

T = TypeVar("T")

OPERATION: Final = "hindsight.answer"
NOTHING_FOUND: Final = "Memory holds nothing on this."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """The constants of answering."""

    evidence: EvidenceSettings = EvidenceSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer from memory; citations are the numbers of the entries it rests on, none only where it abstains."""

    reasoning: str
    answer: str
    abstained: bool
    citations: tuple[int, ...]

    def __post_init__(self) -> None:
        require_answer(self.answer, abstained=self.abstained, citations=self.citations)


@dataclass(frozen=True, slots=True)
class Answering:
    """Answering with its constants."""

    settings: AnswerSettings = AnswerSettings()

    def build(self, parts: Parts) -> Answerer:
        return Answerer(parts, self.settings)


class Answerer:
    """Answers from what a bank knows, whoever it is: no disposition, no new opinions.

    See :class:`recollect.ports.Responder`.
    """

    def __init__(self, parts: Parts, settings: AnswerSettings) -> None:
        self._parts, self._settings = parts, settings

    async def respond(self, query: Query, reader: StoreReader) -> Response:
        """Recall, and answer from that; where nothing is found, no model is asked."""
        began = time.perf_counter()
        gathered = await gather(query, reader, self._parts.retriever, self._settings.evidence)
        if not gathered.entries:
            return Response(answer=nothing_found(gathered, began))

        def check(reply: Answered) -> None:
            gathered.require(reply.citations)

        asked = time.perf_counter()
        reply = await self._parts.model.generate(answer_prompt(query, gathered), Answered, check=check)
        step = Step(action="answer", detail=reply.value.reasoning, seconds=time.perf_counter() - asked)
        answer = Answer(
            text=reply.value.answer,
            abstained=reply.value.abstained,
            citations=gathered.cited(reply.value.citations),
            evidence=tuple(entry.evidence for entry in gathered.entries),
            trace=(gathered.told(), step),
            receipt=receipt_of(gathered, reply, began),
        )
        return Response(answer=answer)


def require_answer(answer: str, *, abstained: bool, citations: tuple[int, ...]) -> None:
    """Raises ValueError where a reply says nothing, or says something that it has from nowhere."""
    if not answer.strip():
        raise ValueError("the answer is empty; where memory does not hold it, abstain and say so")
    if not abstained and not citations:
        raise ValueError("the answer cites nothing: name the entries that it rests on, or abstain")


def nothing_found(gathered: Gathered, began: float) -> Answer:
    """What is said where nothing was found; ``began`` is the moment, on the performance counter, of the question."""
    return Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=(),
        trace=(gathered.told(),),
        receipt=receipt_of(gathered, None, began),
    )


def receipt_of(gathered: Gathered, reply: Reply[T] | None, began: float) -> AnswerReceipt:
    """How an answer was made. What a recall could not do is a note: evidence may be missing for that alone."""
    receipts = tuple(recall.receipt for recall in gathered.recalls)
    return AnswerReceipt(
        recalls=receipts,
        models=() if reply is None else (reply.model,),
        usage=sum((one.usage for one in receipts), Usage() if reply is None else reply.usage),
        seconds=time.perf_counter() - began,
        notes=tuple(dict.fromkeys(_left_undone(gathered))),
    )


def _left_undone(gathered: Gathered) -> Iterator[str]:
    for recall in gathered.recalls:
        for arm in recall.receipt.arms:
            if arm.status not in (ArmStatus.OK, ArmStatus.IDLE):
                yield f"the {arm.arm} arm of the recall did not answer ({arm.status.value}): {arm.note}"
        yield from recall.receipt.notes


_SYSTEM: Final = f"""You answer questions from a memory of conversations, for the one whose memory it is.

{SECTIONS_EXPLAINED}

How to answer:
- Use the entries for everything about the people, things and events they tell of; never fill a gap there. Common \
knowledge may complete an answer whose subject the entries name: who wrote a book, where a town lies, what a food is \
made of.
- Facts, observations and raw words are evidence. An opinion tells what is believed and by itself proves nothing; use \
it only where the question asks what is believed.
- Work out times from the dates of the entries and from the present. Count days, months and years carefully. "Last \
week" in an entry is the week before it was said, not the week before now.
- Where entries say different things at different times, answer with what holds now unless the past is asked for. \
What was only planned is told as planned, where no entry says that it happened.
- Where a judgement is asked for, answer with what the people concerned say or show.
- reasoning: in one to three sentences, which entries decide and how.
- answer: as short as the question allows, a name, a date or a phrase where that will do, without numbers of entries.
- citations: the numbers of the entries that the answer rests on, the most important first.
- abstained: true when the entries do not hold the answer, also when they only come near it, or when the question \
takes something for granted that they do not say. The answer then says in one sentence what is missing; citations may \
name what comes nearest. Where they hold a part of the answer, give that part, say what is missing, and do not abstain.

The question stands between <question> and </question>. {DATA_RULE}"""


def answer_prompt(query: Query, gathered: Gathered) -> Prompt:
    """What is asked of the question and the evidence."""
    return Prompt(
        role=Role.ANSWER, operation=OPERATION, subject=query.text, system=_SYSTEM, text=asked(query, gathered)
    )


def asked(query: Query, gathered: Gathered) -> str:
    """The evidence, the present and the question, as the text of a prompt."""
    present = f"The present: {weekday_and_time(query.now)}."
    return f"{gathered.shown()}\n\n{present}\n\n{fenced('question', query.text)}"
