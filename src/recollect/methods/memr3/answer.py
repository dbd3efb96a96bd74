"""Answer from the evidence that the loop has gathered (section 3.4, equation 6), or abstain if there is none."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from recollect.answering.answers import NOTHING_FOUND, CitedReply, build_receipt
from recollect.answering.evidence import join_lines
from recollect.domain.answers import Answer, AnswerReceipt, Citation, cite
from recollect.domain.queries import Query
from recollect.methods.dependencies import Dependencies
from recollect.methods.memr3.loop import InitialRetrieval, RetrievalLoop
from recollect.methods.memr3.prompts import build_answer_prompt
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import LoopState
from recollect.methods.memr3.trace import LoopConclusion
from recollect.models.language import Reply
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ConclusionReply(CitedReply):
    """An answer. Its citations are the numbers of the snippets that it rests on. Only an abstention has none."""

    __pydantic_config__: ClassVar = {"title": "Concluded"}  # its name in requests to a model, recorded ones too


class LoopResponder:
    """Retrieves with any retriever until nothing is missing, and answers. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: LoopSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or LoopSettings()

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Answer the question. If nothing is in scope, no model is asked.

        Raises:
            RecallFailed: no search was possible, or a later search failed before there was any evidence.
            ModelError: a model failed before there was any evidence, or could not write the answer.
        """
        return Response(answer=await self.answer(query, reader, listener))

    async def answer(
        self, query: Query, reader: StoreReader, follow: Listener = ignore_event, begun: InitialRetrieval | None = None
    ) -> Answer:
        """Return the answer. ``follow`` receives each iteration at its end, and the conclusion.

        ``begun`` is a first retrieval that was already made, with the model's reply to it.

        Raises:
            RecallFailed, ModelError: as in :meth:`respond`.
        """
        began = time.perf_counter()
        loop = RetrievalLoop(
            query=query,
            reader=reader,
            retriever=self._parts.retriever,
            model=self._parts.model,
            settings=self._settings,
            follow=follow,
            initial=begun,
        )
        return await conclude(loop, await loop.run(), began=began)


async def conclude(loop: RetrievalLoop, state: LoopState, *, began: float) -> Answer:
    """Answer from the last state of a loop (equation 6). If there is no evidence, no model is asked.

    ``began`` is the time of the question by ``time.perf_counter``.

    Raises:
        ModelError: the model could not write the answer.
    """
    concluding = time.perf_counter()
    reply = await _ask_model(loop, state) if state.known.evidence else None
    said = _abstain(state) if reply is None else reply.value
    conclusions = (
        []
        if reply is None
        else [LoopConclusion(reasoning=said.reasoning, usage=reply.usage, seconds=time.perf_counter() - concluding)]
    )
    for step in conclusions:
        loop.follow(step)
    return Answer(
        text=said.answer,
        abstained=said.abstained,
        citations=_cite_snippets(state, said),
        evidence=tuple(snippet.evidence for snippet in state.all_snippets),
        trace=(*loop.rounds, *conclusions),
        receipt=_build_receipt(loop, reply, began),
    )


async def _ask_model(loop: RetrievalLoop, state: LoopState) -> Reply[ConclusionReply]:
    def check(reply: ConclusionReply) -> None:
        require_cited(reply, state)

    return await loop.model.generate(build_answer_prompt(loop.query, state), ConclusionReply, check=check)


def require_cited(reply: ConclusionReply, state: LoopState) -> None:
    """Raise ValueError if an answer cites a snippet on which no evidence rests."""
    for number in reply.citations:
        if number not in state.cited_numbers:
            numbers = ", ".join(map(str, state.cited_numbers))
            raise ValueError(f"no evidence rests on snippet {number}; cite of these: {numbers}")


def _cite_snippets(state: LoopState, reply: ConclusionReply) -> tuple[Citation, ...]:
    return tuple(cite(state.all_snippets[number - 1].evidence) for number in dict.fromkeys(reply.citations))


def _abstain(state: LoopState) -> ConclusionReply:
    """Return the reply without evidence and without a model: nothing was found, and what is missing."""
    missing = "; ".join(join_lines(gap.missing).rstrip(".") for gap in state.known.gaps)
    text = f"{NOTHING_FOUND} Missing: {missing}." if missing else NOTHING_FOUND
    return ConclusionReply(reasoning="", answer=text, abstained=True, citations=())


def _build_receipt(loop: RetrievalLoop, reply: Reply[ConclusionReply] | None, began: float) -> AnswerReceipt:
    """Return the receipt of all calls, including the last one and failed ones."""
    last = [] if reply is None else [reply]
    notes = [*loop.notes, *(note for one in last for note in one.notes)]
    return build_receipt(loop.recalls, [*loop.replies, *last], began, notes, failed_usage=loop.failed_usage)
