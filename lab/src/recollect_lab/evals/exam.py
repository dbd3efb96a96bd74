"""One conversation's part of an evaluation: retain it, put its questions, score what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from recollect_lab.datasets.dataset import Conversation, Question
from recollect_lab.evals.bank import EvalBank, OpenBank
from recollect_lab.evals.places import PlaceMap, place_map, ranked
from recollect_lab.evals.report import KEPT_PLACES, Row, Run
from recollect_lab.evals.scoring import score_places, score_sessions
from recollect_lab.evals.selection import Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an evaluation is: ``done`` of ``total`` questions; ``stage`` is what just ended in ``conversation``."""

    stage: Literal["retain", "recall"]
    conversation: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one conversation gave: a row a question, and what it cost (seconds, messages, bytes)."""

    rows: tuple[Row, ...]
    retain_seconds: float
    messages: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """Places and sessions, best first; or why there are none."""

    places: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    """The same for every conversation of a run: how it is measured, who is told, and the clock (in seconds)."""

    run: Run
    total: int
    progress: Callable[[Progress], None] | None
    timer: Callable[[], float]

    async def conversation(self, chosen: Chosen, open_bank: OpenBank, *, done: int) -> Outcome:
        """Examine one conversation in a bank of its own; ``done`` questions were put before it."""
        name = chosen.conversation.id
        where = place_map(chosen.conversation, self.run.place)
        bank = await open_bank(name)
        try:
            seconds = await self._retain(bank, chosen.conversation)
            self._tell("retain", name, done)
            rows: list[Row] = []
            for question in chosen.questions:
                rows.append(await self._ask(bank, name, question, where))
                self._tell("recall", name, done + len(rows))
            size = bank.size_bytes()
        finally:
            await bank.close()
        return Outcome(rows=tuple(rows), retain_seconds=seconds, messages=len(where.sessions), size_bytes=size)

    async def _retain(self, bank: EvalBank, conversation: Conversation) -> float:
        start = self.timer()
        for session in conversation.sessions:
            if session.messages:
                await bank.retain(session.messages, session=session.id)
        return self.timer() - start

    async def _ask(self, bank: EvalBank, conversation: str, question: Question, where: PlaceMap) -> Row:
        start = self.timer()
        ranking = await self._rank(bank, question, where)
        seconds = self.timer() - start
        gold = tuple(dict.fromkeys(where.places[name] for name in question.evidence))
        return Row(
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

    async def _rank(self, bank: EvalBank, question: Question, where: PlaceMap) -> _Ranking:
        try:
            found = await bank.recall(question.text, limit=self.run.depth, max_tokens=None, now=question.at)
            sources = [piece.sources for piece in found.evidence]
            places = ranked(sources, where.places)[: self.run.depth]
            return _Ranking(places=places, sessions=ranked(sources, where.sessions))
        except Exception as exc:  # whatever a bank raises: one bad question must not lose the hours of the others
            return _Ranking(error=f"{type(exc).__name__}: {exc}")

    def _tell(self, stage: Literal["retain", "recall"], conversation: str, done: int) -> None:
        if self.progress is not None:
            self.progress(Progress(stage=stage, conversation=conversation, done=done, total=self.total))
