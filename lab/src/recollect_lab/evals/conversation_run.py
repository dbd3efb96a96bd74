"""Evaluate one conversation: retain it, ask its questions, and score the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from recollect_lab.datasets.dataset import DatasetConversation, DatasetQuestion
from recollect_lab.evals.bank import EvalBank, OpenBank
from recollect_lab.evals.places import PlaceMap, map_places, rank_places
from recollect_lab.evals.report import KEPT_PLACES, QuestionResult, RunSettings
from recollect_lab.evals.scoring import score_places, score_sessions
from recollect_lab.evals.selection import ChosenQuestions


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalProgress:
    """The progress of an evaluation: ``done`` of ``total`` questions. ``stage`` has just ended in ``conversation``."""

    stage: Literal["retain", "recall"]
    conversation: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOutcome:
    """The result of one conversation: a row for each question, and the cost (seconds, messages, bytes)."""

    rows: tuple[QuestionResult, ...]
    retain_seconds: float
    messages: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """A ranking of places and one of sessions, the best first, or the error of the recall."""

    places: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRun:
    """The settings that all conversations of a run share: how to measure, where to report progress, and the clock in
    seconds.
    """

    run: RunSettings
    total: int
    progress: Callable[[EvalProgress], None] | None
    timer: Callable[[], float]

    async def run_conversation(self, chosen: ChosenQuestions, open_bank: OpenBank, *, done: int) -> ConversationOutcome:
        """Evaluate one conversation in a new bank. ``done`` is the number of questions that were asked before it."""
        name = chosen.conversation.id
        where = map_places(chosen.conversation, self.run.place)
        bank = await open_bank(name)
        try:
            seconds = await self._retain(bank, chosen.conversation)
            self._tell("retain", name, done)
            rows: list[QuestionResult] = []
            for question in chosen.questions:
                rows.append(await self._ask(bank, name, question, where))
                self._tell("recall", name, done + len(rows))
            size = bank.size_bytes()
        finally:
            await bank.close()
        return ConversationOutcome(
            rows=tuple(rows), retain_seconds=seconds, messages=len(where.sessions), size_bytes=size
        )

    async def _retain(self, bank: EvalBank, conversation: DatasetConversation) -> float:
        start = self.timer()
        for session in conversation.sessions:
            if session.messages:
                await bank.retain(session.messages, session=session.id)
        return self.timer() - start

    async def _ask(
        self, bank: EvalBank, conversation: str, question: DatasetQuestion, where: PlaceMap
    ) -> QuestionResult:
        start = self.timer()
        ranking = await self._rank(bank, question, where)
        seconds = self.timer() - start
        gold = tuple(dict.fromkeys(where.places[name] for name in question.evidence))
        return QuestionResult(
            question=question.id,
            conversation=conversation,
            category=question.category,
            gold=gold,
            gold_sessions=question.sessions,
            places=ranking.places[:KEPT_PLACES],
            sessions=ranking.sessions[:KEPT_PLACES],
            scores={
                **score_places(ranking.places, frozenset(gold), depth=self.run.depth),
                **score_sessions(ranking.sessions, frozenset(question.sessions), depth=self.run.depth),
            },
            ms=seconds * 1000,
            error=ranking.error,
        )

    async def _rank(self, bank: EvalBank, question: DatasetQuestion, where: PlaceMap) -> _Ranking:
        try:
            found = await bank.recall(question.text, limit=self.run.depth, max_tokens=None, now=question.at)
            sources = [piece.sources for piece in found.evidence]
            places = rank_places(sources, where.places)[: self.run.depth]
            return _Ranking(places=places, sessions=rank_places(sources, where.sessions))
        except Exception as exc:  # any error of a bank: one bad question must not lose the results of hours
            return _Ranking(error=f"{type(exc).__name__}: {exc}")

    def _tell(self, stage: Literal["retain", "recall"], conversation: str, done: int) -> None:
        if self.progress is not None:
            self.progress(EvalProgress(stage=stage, conversation=conversation, done=done, total=self.total))
