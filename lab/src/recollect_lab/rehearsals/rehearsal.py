"""Run a recipe from end to end over the shipped sample. ``recollect demo --recipe`` shows this run, and tests replay
it.

The sample is retained session by session. A plan may retain a first part, ask the agent for its opinions, and then
retain the rest, so that later facts change these opinions. After that the questions are asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from recollect.app import Memory, build_rehearsal_model
from recollect.domain.answers import Answer
from recollect.domain.items import Item, ItemKind
from recollect.domain.opinions import Opinion
from recollect.domain.usage import Cost
from recollect.memory.bank import Bank
from recollect.models.language import ModelRole
from recollect.sample import sample_path
from recollect.worker import WorkerSettings
from recollect_lab.datasets.dataset import DatasetConversation, DatasetQuestion, DatasetSession
from recollect_lab.datasets.jsonl import load_jsonl
from recollect_lab.manual_clock import ManualClock
from recollect_lab.rehearsals.plans import RehearsalPlan
from recollect_lab.rehearsals.token_f1 import compute_token_f1

BANK: Final = "sample"
ASKED_AT_ONCE: Final = 8

_MADE: Final = tuple(kind for kind in ItemKind if kind not in (ItemKind.TURN, ItemKind.OPINION))

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question with its answer, and the token F1 of the answer against the known one."""

    question: DatasetQuestion
    answer: Answer
    f1: float

    @property
    def should_abstain(self) -> bool:
        return self.question.category == "unanswerable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalResult:
    """The memory that was made of the sample, and the answers.

    ``made`` are the valid items that were made of the messages, except turns and opinions. ``built`` is the cost of the
    memory before the first question, without the cost of reflection. ``seconds`` is the time of the whole run, with the
    time of waiting for replies.
    """

    asked: tuple[AnsweredQuestion, ...]
    reflected: tuple[tuple[str, Answer], ...]
    made: tuple[Item, ...]
    opinions: tuple[Opinion, ...]
    links: dict[str, int]
    built: tuple[Cost, ...]
    costs: tuple[Cost, ...]
    problems: tuple[str, ...]
    seconds: float

    def items_of(self, kind: ItemKind) -> tuple[Item, ...]:
        """Return the items of one kind. The item that was mentioned last comes first."""
        return tuple(item for item in self.made if item.kind is kind)


async def rehearse(
    plan: RehearsalPlan, base_url: str, progress: Progress, *, lanes: int = 1, asked_at_once: int = ASKED_AT_ONCE
) -> RehearsalResult:
    """Run a plan against an endpoint: retain, reflect, retain the rest, ask, reflect.

    With one lane, every run asks for the same replies in the same order. With more lanes, making a recording is faster.

    Raises:
        ModelError: a question could not be answered.
    """
    with sample_path() as path:
        conversation = load_jsonl(path).conversations[0]
    clock = ManualClock(conversation.sessions[0].at)
    began = time.perf_counter()
    with TemporaryDirectory(prefix="recollect-rehearsal-") as folder:
        async with _open_memory(plan, Path(folder), base_url, clock, lanes) as memory:
            bank = await memory.bank(BANK)
            if plan.profile is not None:
                await bank.set_profile(plan.profile)
            return await _RehearsalRun(plan, bank, clock, progress, asked_at_once).all(conversation, began)


def _open_memory(plan: RehearsalPlan, folder: Path, base_url: str, clock: ManualClock, lanes: int) -> Memory:
    return Memory.open(
        folder,
        recipe=plan.recipe,
        model=build_rehearsal_model(base_url),
        worker=WorkerSettings(concurrency=lanes, lease_s=7200.0, call_timeout_s=7200.0, automatic=False),
        clock=clock,
    )


class _RehearsalRun:
    def __init__(self, plan: RehearsalPlan, bank: Bank, clock: ManualClock, progress: Progress, at_once: int) -> None:
        self._plan, self._bank, self._clock, self._progress, self._at_once = plan, bank, clock, progress, at_once
        self._problems: list[str] = []
        self._reflected: list[tuple[str, Answer]] = []

    async def all(self, conversation: DatasetConversation, began: float) -> RehearsalResult:
        plan = self._plan
        if plan.early:
            await self._retain(conversation.sessions[: plan.early])
        await self._reflect(plan.reflected_early)
        await self._retain(conversation.sessions[plan.early :])
        built = await self._bank.costs()
        asked = await self._ask_all(_choose_questions(plan, conversation))
        await self._reflect(plan.reflected_late)
        return RehearsalResult(
            asked=tuple(asked),
            reflected=tuple(self._reflected),
            made=tuple(await self._bank.items(*_MADE)),
            opinions=tuple(await self._bank.opinions()),
            links=(await self._bank.info()).links_by_kind,
            built=tuple(cost for cost in built if cost.role != ModelRole.REFLECT),
            costs=tuple(await self._bank.costs()),
            problems=tuple(self._problems),
            seconds=time.perf_counter() - began,
        )

    async def _retain(self, sessions: tuple[DatasetSession, ...]) -> None:
        """Retain sessions at their times. Afterwards the clock is one hour after the start of the last session."""
        for session in sessions:
            self._clock.set(session.at + timedelta(hours=1))
            pinned = self._plan.pinned
            messages = [replace(message, important=message.id in pinned) for message in session.messages]
            await self._bank.retain(messages, session=session.id)
            self._progress(f"kept {session.id}: {len(session.messages)} messages")
        self._problems += await self._bank.run_jobs()
        self._progress("did the background work")

    async def _reflect(self, questions: tuple[str, ...]) -> None:
        for question in questions:
            self._reflected.append((question, await self._bank.reflect(question)))
            self._progress(f"reflected: {question}")

    async def _ask_all(self, questions: tuple[DatasetQuestion, ...]) -> list[AnsweredQuestion]:
        """Return the answers in the order of the questions. An answer changes nothing, so several questions are asked
        at a time.
        """
        slots = asyncio.Semaphore(self._at_once)

        async def ask(question: DatasetQuestion) -> AnsweredQuestion:
            async with slots:
                return await self._ask(question)

        return await asyncio.gather(*(ask(question) for question in questions))

    async def _ask(self, question: DatasetQuestion) -> AnsweredQuestion:
        answer = await self._bank.ask(question.text, now=question.at)
        self._progress(f"asked: {question.text}")
        return AnsweredQuestion(question=question, answer=answer, f1=compute_token_f1(answer.text, question.answer))


def _choose_questions(plan: RehearsalPlan, conversation: DatasetConversation) -> tuple[DatasetQuestion, ...]:
    chosen = (one for one in conversation.questions if not plan.questions or one.id in plan.questions)
    return (*chosen, *plan.more)
