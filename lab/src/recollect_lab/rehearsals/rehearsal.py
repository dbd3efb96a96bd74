"""A recipe from end to end over the shipped sample: what ``recollect demo --recipe`` shows and tests replay.

The sample is kept session by session, where a plan says so half of it before the agent is first asked for its opinions
and half after, so that later facts move what it believes; then it is questioned.
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
    """A question put, the answer, and the share of words it has in common with the known one."""

    question: DatasetQuestion
    answer: Answer
    f1: float

    @property
    def should_abstain(self) -> bool:
        return self.question.category == "unanswerable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalResult:
    """What the sample became, and how it answered.

    ``made`` is what holds of all that was made of the messages, turns and opinions aside. ``built`` is what was spent
    on that, before the first question and without what was reflected on before it. ``seconds`` is all of it, waiting
    for replies included.
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
        """What was made of one kind, what was said last first."""
        return tuple(item for item in self.made if item.kind is kind)


async def rehearse(
    plan: RehearsalPlan, base_url: str, progress: Progress, *, lanes: int = 1, asked_at_once: int = ASKED_AT_ONCE
) -> RehearsalResult:
    """Run everything against an endpoint: retain, reflect, retain the rest, ask, reflect.

    With one lane every run asks for the same replies in the same order; more are faster while a recording is made.

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
        worker=WorkerSettings(concurrency=lanes, lease_s=7200.0, automatic=False),
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
        """Keep sessions as they were held; the clock stands an hour after the last."""
        for session in sessions:
            self._clock.set(session.at + timedelta(hours=1))
            pinned = self._plan.pinned
            messages = [replace(message, important=message.id in pinned) for message in session.messages]
            await self._bank.retain(messages, session=session.id)
            self._progress(f"kept {session.id}: {len(session.messages)} messages")
        self._problems += await self._bank.run_jobs()
        self._progress("worked on what was kept")

    async def _reflect(self, questions: tuple[str, ...]) -> None:
        for question in questions:
            self._reflected.append((question, await self._bank.reflect(question)))
            self._progress(f"reflected: {question}")

    async def _ask_all(self, questions: tuple[DatasetQuestion, ...]) -> list[AnsweredQuestion]:
        """Answers in the order of the questions; an answer changes nothing, so that some can be waited for at once."""
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
