"""Run one stage of the engine's measurement in a separate process: ``python -m benchmarks.worker STAGE '{...}'``.

A process that has ingested has memory and caches that a process which only answers does not have. So ``ingest`` fills a
bank and ends, and ``serve`` opens this bank in a new process. Each prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.corpus import Corpus, Needle
from benchmarks.heartbeat import Heartbeat
from benchmarks.machine import folder_mb, peak_rss_mb, quantile, rss_mb
from recollect import Memory
from recollect.app import build_embedder
from recollect.domain.messages import Message
from recollect.domain.queries import Effort
from recollect.domain.recalls import Recall
from recollect.memory.bank import Bank

BANK, WARM_BANK = "bench", "warm"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
WARM_QUESTIONS = 10
OTHER_EFFORTS = (Effort.LOW, Effort.HIGH)
SESSION_MESSAGES = 40
STALL_CALLS = 50

Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan for one size: the numbers of messages, of questions, and of writes of one message.

    ``folder`` is the place of the bank. ``batch`` is the number of messages in one call.
    """

    folder: str
    items: int
    batch: int = 500
    queries: int = 200
    singles: int = 300
    seed: int = 0

    @property
    def corpus(self) -> Corpus:
        return Corpus(items=self.items, needles=self.queries + WARM_QUESTIONS, seed=self.seed)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


async def ingest(plan: Plan) -> Figures:
    """Fill a bank on disk, batch by batch. The time for making the messages is not counted."""
    calls: list[tuple[int, float]] = []
    async with Memory.open(plan.folder, model="none") as memory:
        await _warm_up(memory)
        bank = await memory.bank(BANK)
        for batch in plan.corpus.batches(plan.batch):
            calls.append((len(batch.messages), await _retain(bank, batch.messages, batch.session)))
        began = time.perf_counter()
    spent = [seconds for _, seconds in calls]
    last = _last_tenth(calls)
    return {
        "ingest_per_s": _rate(calls),
        "ingest_last_per_s": _rate(last),
        "batch_p50_ms": quantile(spent, 0.5) * 1000,
        "batch_max_ms": max(spent) * 1000,
        "close_s": time.perf_counter() - began,
        "ingest_peak_rss_mb": peak_rss_mb(),
    }


async def serve(plan: Plan) -> Figures:
    """Open the bank, answer questions, and then write to it message by message."""
    needles = plan.corpus.planted()
    warm, asked = needles[:WARM_QUESTIONS], needles[WARM_QUESTIONS:]
    empty, size = rss_mb(), folder_mb(Path(plan.folder))
    memory, opening = await _open(plan, warm[0])
    async with memory:
        bank = await memory.bank(BANK)
        for needle in warm:
            await _ask(bank, needle, Effort.MID)
        answers = await _answers(bank, asked)
        held = {"rss_mb": rss_mb(), "peak_rss_mb": peak_rss_mb(), "rss_import_mb": empty, "file_mb": size}
        writes = await _single_writes(bank, plan)
        stalls = await _stalls(bank, asked, plan)
    return {**answers, **opening, **held, **writes, **stalls}


async def _open(plan: Plan, first: Needle) -> tuple[Memory, Figures]:
    """Read the embedder. Then, with a separate time, open the bank, load its index and answer a first question."""
    began = time.perf_counter()
    embedder = build_embedder("wordllama")
    await embedder.embed(["hello"])
    read = time.perf_counter()
    memory = Memory.open(plan.folder, embedder=embedder, model="none")
    bank = await memory.bank(BANK, create=False)
    await bank.info()
    opened = time.perf_counter()
    async with Heartbeat() as heart:
        await _ask(bank, first, Effort.MID)
        answered = time.perf_counter()
    return memory, {
        "open_s": answered - read,
        "embedder_s": read - began,
        "first_recall_s": answered - opened,
        "first_recall_stall_ms": heart.longest_s * 1000,
    }


async def _answers(bank: Bank, needles: Sequence[Needle]) -> Figures:
    """Return the latency in milliseconds, with the embedding of the question, and the share of the facts that were
    found.
    """
    figures: Figures = {}
    asked = [await _ask(bank, needle, Effort.MID) for needle in needles]
    spent = [seconds * 1000 for _, seconds in asked]
    for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
        figures[f"recall_{name}_ms"] = quantile(spent, share)
    for effort in OTHER_EFFORTS:
        other = [await _ask(bank, needle, effort) for needle in needles[: len(needles) // 2 + 1]]
        figures[f"recall_{effort}_p50_ms"] = quantile([seconds * 1000 for _, seconds in other], 0.5)
    hits = [_found(recall, needle) for (recall, _), needle in zip(asked, needles, strict=True)]
    return {**figures, "found@10": sum(hits) / len(hits)}


async def _single_writes(bank: Bank, plan: Plan) -> Figures:
    """Return the times of writes as in a chat: one message a call, and one session a call. The first write loads the
    names.
    """
    count = plan.singles
    extra = list(Corpus(items=count + count // 3 * 4 + 1, seed=plan.seed + 1).messages())
    first, singles, rest = extra[0], extra[1 : count + 1], extra[count + 1 :]
    figures = {"first_retain_ms": 1000 * await _retain(bank, [_renamed(first)], "chat")}
    if singles:
        spent = [await _retain(bank, [_renamed(message)], "chat") for message in singles]
        figures["single_retain_ms"] = 1000 * quantile(spent, 0.5)
        figures["single_retain_p95_ms"] = 1000 * quantile(spent, 0.95)
    sessions = [rest[at : at + SESSION_MESSAGES] for at in range(0, len(rest), SESSION_MESSAGES)]
    whole = [session for session in sessions if len(session) == SESSION_MESSAGES]
    if whole:
        spent = [await _retain(bank, list(map(_renamed, s)), f"chat-{n}") for n, s in enumerate(whole)]
        figures["session_retain_ms"] = 1000 * quantile(spent, 0.5)
    return figures


async def _stalls(bank: Bank, needles: Sequence[Needle], plan: Plan) -> Figures:
    """Return the longest stalls of the event loop. They are measured apart from the latencies, because the heartbeat
    runs all the time.
    """
    async with Heartbeat() as recalls:
        for needle in needles[:STALL_CALLS]:
            await _ask(bank, needle, Effort.MID)
    figures = {"recall_stall_ms": recalls.longest_s * 1000}
    if plan.singles:
        messages = list(Corpus(items=STALL_CALLS + SESSION_MESSAGES, seed=plan.seed + 2).messages())
        async with Heartbeat() as retains:
            for message in messages[:STALL_CALLS]:
                await _retain(bank, [_renamed(message)], "chat-stalls")
            await _retain(bank, list(map(_renamed, messages[STALL_CALLS:])), "session-stalls")
        figures["retain_stall_ms"] = retains.longest_s * 1000
    return figures


async def _warm_up(memory: Memory) -> None:
    """Load everything that is loaded once in a process. The bank for this is deleted again."""
    bank = await memory.bank(WARM_BANK)
    await bank.retain(list(Corpus(items=50).messages()), session="warm")
    await memory.drop(WARM_BANK)


async def _retain(bank: Bank, messages: Sequence[Message], session: str) -> float:
    began = time.perf_counter()
    await bank.retain(messages, session=session)
    return time.perf_counter() - began


async def _ask(bank: Bank, needle: Needle, effort: Effort) -> tuple[Recall, float]:
    began = time.perf_counter()
    recall = await bank.recall(needle.question, effort=effort, now=NOW)
    return recall, time.perf_counter() - began


def _found(recall: Recall, needle: Needle) -> bool:
    return any(needle.message in evidence.sources for evidence in recall.evidence[:10])


def _renamed(message: Message) -> Message:
    """Return the message without its id, so that it is new to the bank."""
    return Message(text=message.text, speaker=message.speaker, at=message.at)


def _last_tenth(calls: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    return calls[-max(1, len(calls) // 10) :]


def _rate(calls: Sequence[tuple[int, float]]) -> float:
    return sum(count for count, _ in calls) / sum(seconds for _, seconds in calls)


STAGES = {"ingest": ingest, "serve": serve}


def main(arguments: Sequence[str]) -> None:
    stage, plan = arguments
    print(json.dumps(asyncio.run(STAGES[stage](Plan(**json.loads(plan))))))


if __name__ == "__main__":
    main(sys.argv[1:])
