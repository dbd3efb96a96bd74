"""Answer from memory (Hindsight, section 6.1): typed and cited, or abstaining if memory does not hold the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, Final

from recollect.answering.answers import CitedReply, abstain_without_evidence, generate_answer, render_request
from recollect.answering.evidence import GatheredEvidence
from recollect.domain.queries import Query
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.networks import SECTIONS_EXPLAINED, EvidenceSettings, gather_networks
from recollect.models.language import ModelRole, Prompt
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader
from recollect.text.fencing import DATA_RULE

OPERATION: Final = "hindsight.answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """The constants of answering."""

    evidence: EvidenceSettings = EvidenceSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswererReply(CitedReply):
    """An answer from memory. ``citations`` are the numbers of the entries behind it. They may be empty only if it
    abstains.
    """

    __pydantic_config__: ClassVar = {"title": "Answered"}  # its name in requests to a model, recorded ones too


class Answerer:
    """Answers from the contents of a bank, without a disposition and without new opinions.

    See :class:`recollect.ports.Responder`.
    """

    def __init__(self, parts: Dependencies, settings: AnswerSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or AnswerSettings()

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Recall evidence, and answer from it. If nothing is found, no model is called."""
        began = time.perf_counter()
        gathered = await gather_networks(query, reader, self._parts.retriever, self._settings.evidence)
        listener(gathered.describe())
        if not gathered.entries:
            return Response(answer=abstain_without_evidence(gathered, began))
        prompt = build_answer_prompt(query, gathered)
        answer = await generate_answer(
            gathered, prompt, AnswererReply, self._parts.model, listener=listener, began=began
        )
        return Response(answer=answer)


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


def build_answer_prompt(query: Query, gathered: GatheredEvidence) -> Prompt:
    """Return the prompt with the question and the evidence."""
    return Prompt(
        role=ModelRole.ANSWER,
        operation=OPERATION,
        subject=query.text,
        system=_SYSTEM,
        text=render_request(query, gathered),
    )
