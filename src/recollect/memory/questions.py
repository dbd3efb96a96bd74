"""The methods of a bank that search it, and that answer questions from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Unpack

from recollect.answering.answers import NOTHING_FOUND, collect_recall_notes
from recollect.domain.answers import Answer, AnswerReceipt, Step, TraceStep
from recollect.domain.checks import require_text
from recollect.domain.items import ItemKind
from recollect.domain.queries import Effort, Query
from recollect.domain.recalls import Recall
from recollect.domain.time import Interval
from recollect.domain.usage import Usage
from recollect.errors import NoModel
from recollect.memory.base import BankBase
from recollect.memory.deadline import Deadline
from recollect.memory.query_options import RecallOptions, build_query
from recollect.models.language import ModelRole
from recollect.ports import Listener, Response, Retriever, ignore_event
from recollect.recipes.assembly import AssembledRecipe
from recollect.store.protocol import StoreReader

_UNANSWERED = "the question is not answered"


class BankQuestions(BankBase):
    """Searches a bank, and answers questions from it."""

    async def recall(
        self,
        text: str,
        *,
        limit: int = 20,
        max_tokens: int | None = 4096,
        effort: Effort | str = Effort.MID,
        kinds: Sequence[ItemKind | str] = (),
        sessions: str | Iterable[str] = (),
        speakers: str | Iterable[str] = (),
        during: Interval | None = None,
        as_of: datetime | None = None,
        exclude: str | Iterable[str] = (),
        now: datetime | None = None,
        timeout: float | None = None,
    ) -> Recall:
        """Find evidence in the bank for a question.

        Args:
            text: the question, or any words.
            limit: the maximum number of items.
            max_tokens: the maximum number of tokens of all evidence together. ``None`` means no limit.
            effort: how thorough the search is: ``low``, ``mid`` or ``high``.
            kinds, sessions, speakers: only items of these. Empty means all.
            during: only items that were said in this time, or that speak of it.
            as_of: only what was recorded by this moment.
            exclude: ids of items or messages that must not be returned.
            now: the present for expressions such as "last week" in the question. By default it is the time of the
                clock.
            timeout: the number of seconds after which the call ends, whatever it waits for. ``None`` means no limit.

        Raises:
            InvalidInput: a limit is not positive, an effort or a kind is unknown, or a time has no zone.
            RecallFailed: every arm of the search failed.
            ModelUnavailable: the embedder could not be reached, or it failed.
            DeadlineExceeded: the time is over.
        """
        deadline = Deadline(timeout)
        narrowed = RecallOptions(
            limit=limit,
            max_tokens=max_tokens,
            effort=effort,
            kinds=kinds,
            sessions=sessions,
            speakers=speakers,
            during=during,
            as_of=as_of,
            exclude=exclude,
            now=now,
        )
        query = build_query(text, narrowed, self._clock())
        return await deadline.wait_for(
            self._recipe.retriever.retrieve(query, self._store), outcome="the search is not finished"
        )

    async def ask(
        self,
        question: str,
        *,
        recipe: str | None = None,
        timeout: float | None = None,
        **narrowed: Unpack[RecallOptions],
    ) -> Answer:
        """Answer a question from the bank, with citations. The answer abstains if the bank does not contain the
        information.

        Args:
            question: the question in words.
            recipe: the name of the recipe that answers. By default it is the recipe of the memory.
            timeout: the number of seconds after which the call ends, whatever it waits for. ``None`` means no limit.
            narrowed: the options of the search (:class:`recollect.memory.query_options.RecallOptions`).

        Without a language model, the text of the answer is empty. The answer then has the evidence, and a note that
        says why.

        Raises:
            InvalidInput: a limit is not positive, a time has no zone, or there is no such recipe.
            RecallFailed: every arm of the search failed.
            ModelError: the model failed, or its limit on tokens is used up.
            DeadlineExceeded: the time is over.
        """
        deadline = Deadline(timeout)
        answer = self._answer(
            self._method(_check_recipe(recipe)), build_query(question, narrowed, self._clock()), ignore_event
        )
        return await deadline.wait_for(answer, outcome=_UNANSWERED)

    async def ask_stream(
        self,
        question: str,
        *,
        recipe: str | None = None,
        timeout: float | None = None,
        **narrowed: Unpack[RecallOptions],
    ) -> AsyncIterator[TraceStep | Answer]:
        """Answer as :meth:`ask` does. Yield each step when it is finished, and the answer at the end.

        The steps are those of ``Answer.trace`` (:class:`recollect.domain.answers.TraceStep`). To stop the work, close
        the iterator before its end (``contextlib.aclosing``), or cancel the task that reads it.

        Raises:
            InvalidInput, RecallFailed, ModelError, DeadlineExceeded: as for :meth:`ask`. They are raised when the
                iterator is read.
        """
        deadline = Deadline(timeout)
        method, query = self._method(_check_recipe(recipe)), build_query(question, narrowed, self._clock())

        async def answer(follow: Listener) -> Answer:
            return await deadline.wait_for(self._answer(method, query, follow), outcome=_UNANSWERED)

        async with aclosing(_stream_answer(answer)) as events:
            async for event in events:
                yield event

    async def reflect(
        self,
        question: str,
        *,
        recipe: str | None = None,
        timeout: float | None = None,
        **narrowed: Unpack[RecallOptions],
    ) -> Answer:
        """Answer as the agent of the bank's profile would. Form opinions if the question calls for judgement (CARA).

        The arguments are those of :meth:`ask`. ``Answer.opinions`` contains the ids of the opinions that were formed.

        Raises:
            NoModel: no language model is configured.
            InvalidInput, RecallFailed, ModelError, DeadlineExceeded: as for :meth:`ask`.
        """
        deadline, query = Deadline(timeout), build_query(question, narrowed, self._clock())
        if missing := self._model.missing(ModelRole.REFLECT, "reflect"):
            raise missing

        async def answer() -> Answer:
            reflector = await self._method(_check_recipe(recipe)).reflector()
            return await self._commit_response(await reflector.respond(query, self._store))

        return await deadline.wait_for(answer(), outcome=_UNANSWERED)

    async def _answer(self, method: AssembledRecipe, query: Query, follow: Listener) -> Answer:
        """Return the method's answer, or the evidence alone if there is no model.

        A missing model is known before the search. A model that is missing only for one role of a method, such as
        reading segments, is found out when it is called.
        """
        missing = self._model.missing(ModelRole.ANSWER, "ask")
        if missing and method.answers_with_model:
            return await _answer_with_evidence(query, method.retriever, self._store, follow, note=str(missing))
        try:
            responder = await method.responder()
            response = await responder.respond(query, self._store, follow)
        except NoModel as exc:
            return await _answer_with_evidence(query, method.retriever, self._store, follow, note=str(exc))
        return await self._commit_response(response)

    async def _commit_response(self, response: Response) -> Answer:
        """Store the changes of a response, and return its answer."""
        if response.derive is not None:
            await self._commit(response.derive, Deadline(None))
        return response.answer


async def _stream_answer(answer: Callable[[Listener], Awaitable[Answer]]) -> AsyncGenerator[TraceStep | Answer, None]:
    """Yield every event that ``answer`` reports, each when it is finished, and the answer at the end.

    Errors of ``answer`` are raised here. If the generator is closed before its end, the work is cancelled.
    """
    events: asyncio.Queue[TraceStep | None] = asyncio.Queue()

    async def work() -> Answer:
        try:
            return await answer(events.put_nowait)
        finally:
            events.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        while (event := await events.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # no work goes on unnoticed, and no error is lost


async def _answer_with_evidence(
    query: Query, retriever: Retriever, reader: StoreReader, follow: Listener, *, note: str
) -> Answer:
    """Recall once, and return the evidence without an answer. Nothing is invented.

    If nothing is found, the answer says so, because a model could not say more.

    Raises:
        RecallFailed: every arm of the search failed.
    """
    began = time.perf_counter()
    found = await retriever.retrieve(query, reader)
    seconds = time.perf_counter() - began
    step = Step(action="recall", detail=f"{len(found.evidence)} pieces of evidence", seconds=seconds)
    follow(step)
    notes = (note,) if found.evidence else tuple(collect_recall_notes([found]))
    return Answer(
        text="" if found.evidence else NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=found.evidence,
        trace=(step,),
        receipt=AnswerReceipt(recalls=(found.receipt,), models=(), usage=Usage(), seconds=seconds, notes=notes),
    )


def _check_recipe(recipe: str | None) -> str | None:
    return None if recipe is None else require_text("recipe", recipe)
