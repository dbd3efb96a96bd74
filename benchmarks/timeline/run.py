"""Ask questions about synthetic timelines. Each timeline has its own bank."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from benchmarks.timeline.facts import Fact
from benchmarks.timeline.graphs import GraphSettings
from benchmarks.timeline.planner import answer
from benchmarks.timeline.questions import Asked, Question, asked
from benchmarks.timeline.report import Report, Row, Seconds
from benchmarks.timeline.single import OneRetrieval
from benchmarks.timeline.statements import sentence, statements
from recollect import Bank, Memory
from recollect.methods.remem.tools import Toolkit
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.reports.provenance import gather_provenance

RECIPE: Final = "remem"
TOLD_EVERY: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run. ``load`` is the machine's load average over the last minute when the run began."""

    questions: int
    seed: int
    graphs: GraphSettings
    load: float


class Stopwatch:
    """Adds up seconds by activity."""

    def __init__(self) -> None:
        self.spent = {"making": 0.0, "retaining": 0.0, "asking": 0.0, "one_retrieval": 0.0}

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] += time.perf_counter() - began


async def run(options: Options) -> Report:
    """Ask all questions, with the tools and with one retrieval. Report the progress on stderr."""
    began, at, watch = time.perf_counter(), datetime.now(UTC), Stopwatch()
    with watch.on("making"):
        made = tuple(asked(options.questions, options.seed, options.graphs))
    rows: list[Row] = []
    triples = 0
    async with Memory.open(":memory:", recipe=RECIPE, model="none") as memory:
        await (await memory.bank("warm")).recall("hello")  # so that no figure includes loading the embedder
        for number, one in enumerate(made):
            name = f"graph{number}"
            bank = await memory.bank(name)
            with watch.on("retaining"):
                await bank.add_facts(statements(one.timeline.facts, one.timeline.calendar))
            triples += await _triples(bank, one.timeline.facts)
            rows += [await _row(bank, number, one.timeline.shape, question, watch) for question in one.questions]
            await memory.drop(name)
            if (number + 1) % TOLD_EVERY == 0:
                print(f"{number + 1} of {len(made)} graphs", file=sys.stderr)
    return Report(
        rows=rows,
        graphs=len(made),
        facts=sum(len(one.timeline.facts) for one in made),
        triples=triples,
        seconds=Seconds(**watch.spent, in_all=time.perf_counter() - began),
        provenance=_provenance(options, made, at),
    )


async def _row(bank: Bank, graph: int, shape: str, question: Question, watch: Stopwatch) -> Row:
    began = time.perf_counter()
    with watch.on("asking"):
        told = await answer(question.text, cast(Toolkit, bank.tools()))
    seconds = time.perf_counter() - began
    with watch.on("one_retrieval"):
        single = await answer(question.text, OneRetrieval(cast(Toolkit, bank.tools()), question.text))
    return Row(
        graph=graph,
        shape=shape,
        type=question.type,
        text=question.text,
        answer=question.answer,
        told=told.answer,
        calls=told.calls,
        seconds=seconds,
        single=single.answer,
    )


async def _triples(bank: Bank, facts: Iterable[Fact]) -> int:
    """Return the number of facts in the bank, as its tools count them."""
    tools = cast(Toolkit, bank.tools())
    predicates = sorted({f"was the {fact.relation} of" for fact in facts})
    counted = [await tools.find_entity_contexts(predicate=one, aggregation="count") for one in predicates]
    return sum(one.number or 0 for one in counted)


def _provenance(options: Options, made: Iterable[Asked], at: datetime) -> dict[str, object]:
    dataset = Dataset(name="benchmarks.timeline", conversations=(), place="message", checksum=fingerprint(made))
    return gather_provenance(dataset, settings=options, at=at).to_json()


def fingerprint(made: Iterable[Asked]) -> str:
    """Return the SHA-256 of all sentences, questions and answers, in hexadecimal. It is the same for the same
    questions.
    """
    digest = hashlib.sha256()
    for one in made:
        told = (sentence(fact, one.timeline.calendar) for fact in one.timeline.facts)
        put = (f"{question.text}\t{question.answer}" for question in one.questions)
        for line in (*told, *put):
            digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def load_average() -> float:
    return os.getloadavg()[0]
