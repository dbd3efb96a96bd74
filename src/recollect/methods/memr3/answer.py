"""Answering from evidence that the loop has gathered (section 3.4, equation 6), or saying that there is none."""

from __future__ import annotations

import time
from dataclasses import dataclass

from recollect.answering.answers import NOTHING_FOUND, CitedReply, receipt_of
from recollect.answering.evidence import one_line
from recollect.domain.answers import Answer, AnswerReceipt, Citation, citation_of
from recollect.domain.loops import Trace
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.methods.dependencies import Dependencies
from recollect.methods.memr3.loop import InitialRetrieval, Loop
from recollect.methods.memr3.prompts import answer_prompt
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import State
from recollect.methods.memr3.trace import steps_of
from recollect.models.language import Reply
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded(CitedReply):
    """An answer; citations are the numbers of the snippets it rests on, none only where it abstains."""


class EvidenceGapResponder:
    """Retrieves until nothing is missing, over any retriever, and answers. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: LoopSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or LoopSettings()

    async def respond(self, query: Query, reader: StoreReader, follow: Listener = ignore_event) -> Response:
        """Answer; where there is nothing in scope, no model is asked.

        Raises:
            RecallFailed: nothing could be looked for, or not before there was any evidence.
            ModelError: a model failed before there was any evidence, or could not write the answer.
        """
        return Response(answer=await self.answered(query, reader, follow))

    async def answered(
        self, query: Query, reader: StoreReader, follow: Listener = ignore_event, begun: InitialRetrieval | None = None
    ) -> Answer:
        """The answer; ``follow`` is told of each iteration when it is over.

        ``begun`` is a first retrieval that was made already, and what a model has made of it.

        Raises:
            RecallFailed, ModelError: as :meth:`respond`.
        """
        began = time.perf_counter()
        loop = Loop(
            query=query,
            reader=reader,
            retriever=self._parts.retriever,
            model=self._parts.model,
            settings=self._settings,
            follow=follow,
            begun=begun,
        )
        return await concluded(loop, await loop.run(), began=began)


async def concluded(loop: Loop, state: State, *, began: float) -> Answer:
    """Answer in the state to which a loop has come (equation 6); where there is no evidence, no model is asked.

    ``began`` is when the question was asked, by ``time.perf_counter``.

    Raises:
        ModelError: the model could not write the answer.
    """
    concluding = time.perf_counter()
    reply = await _reply(loop, state) if state.known.evidence else None
    said, usage = (_nothing(state), Usage()) if reply is None else (reply.value, reply.usage)
    trace = Trace(
        question=loop.query.text,
        rounds=tuple(loop.rounds),
        conclusion=None if reply is None else said.reasoning,
        usage=usage,
        seconds=time.perf_counter() - concluding,
    )
    return Answer(
        text=said.answer,
        abstained=said.abstained,
        citations=_cited(state, said),
        evidence=tuple(snippet.evidence for snippet in state.seen),
        trace=steps_of(trace),
        loop=trace,
        receipt=_receipt(loop, reply, began),
    )


async def _reply(loop: Loop, state: State) -> Reply[Concluded]:
    def check(reply: Concluded) -> None:
        require_cited(reply, state)

    return await loop.model.generate(answer_prompt(loop.query, state), Concluded, check=check)


def require_cited(reply: Concluded, state: State) -> None:
    """Raises ValueError where an answer cites a snippet that no evidence rests on."""
    for number in reply.citations:
        if number not in state.cited:
            numbers = ", ".join(map(str, state.cited))
            raise ValueError(f"no evidence rests on snippet {number}; cite of these: {numbers}")


def _cited(state: State, reply: Concluded) -> tuple[Citation, ...]:
    return tuple(citation_of(state.seen[number - 1].evidence) for number in dict.fromkeys(reply.citations))


def _nothing(state: State) -> Concluded:
    """What is said, without a model, where there is no evidence: that, and what was looked for in vain."""
    missing = "; ".join(one_line(gap.missing).rstrip(".") for gap in state.known.gaps)
    text = f"{NOTHING_FOUND} Missing: {missing}." if missing else NOTHING_FOUND
    return Concluded(reasoning="", answer=text, abstained=True, citations=())


def _receipt(loop: Loop, reply: Reply[Concluded] | None, began: float) -> AnswerReceipt:
    """The receipt of every call, the last one and failed ones included."""
    last = [] if reply is None else [reply]
    notes = [*loop.notes, *(note for one in last for note in one.notes)]
    return receipt_of(loop.recalls, [*loop.replies, *last], began, notes, lost=loop.lost)
