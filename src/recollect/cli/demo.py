"""The command ``recollect demo``: it stores a year of conversations and asks questions about it, in a few seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.evidence import format_evidence_line, format_forget_receipt
from recollect.cli.laboratory import report_missing_laboratory
from recollect.cli.output import (
    format_count,
    format_faint,
    format_strong,
    format_table,
    indent_text,
    print_line,
    terminal_width,
)
from recollect.cli.runtime import run

if TYPE_CHECKING:
    from recollect.domain.messages import Message
    from recollect.domain.recalls import Recall
    from recollect.memory.bank import Bank

BANK = "sample"
SHOWN_EVIDENCE = 3
FORGOTTEN = "2023-07-11"
ASKED_QUESTIONS = ("q25", "q15", "q49", "q40", "q60", "q29", "q65")
"""The ids of the questions that are asked, one from each category."""

REWORDED_QUESTIONS = {
    "q29": ("What happened to Bram last October?", "his bakery's oven died, on Friday 13 October 2023")
}
"""Questions and answers in other words than the sample's, so that the time is relative to the day of the question."""

BLURBS = {
    "q25": "Said once, a year before. The words contain no date.",
    "q15": "The answer is in two places.",
    "q49": "First said wrongly, and corrected later.",
    "q40": "Nobody mentioned Nutella. An allergy was mentioned once, months before.",
    "q60": "A preference, said in passing.",
    "q29": "The time depends on when the question is asked.",
    "q65": "Nobody said this. Recall returns the nearest evidence, and the reader must judge it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuestion:
    """A question about the sample: its time, its known answer, and the ids of the messages that contain the answer."""

    id: str
    text: str
    at: datetime
    answer: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The sample: the messages of each session by the session's name, in order of time, and the questions by their
    ids.
    """

    sessions: Mapping[str, Sequence[Message]]
    questions: Mapping[str, SampleQuestion]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that was asked, its results, and the time that they took."""

    question: SampleQuestion
    found: Recall
    seconds: float

    def mark_gold(self) -> tuple[bool, ...]:
        """Return, for each piece of evidence, true if it contains a message that the sample names as a source of the
        answer.
        """
        return tuple(not set(self.question.evidence).isdisjoint(piece.sources) for piece in self.found.evidence)


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the store, and print its folder.")] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe", metavar="NAME", help="Show this recipe with recorded replies of a model (needs recollect-lab)."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Compare all recipes that have recorded replies (needs recollect-lab)."),
    ] = False,
) -> None:
    """Store a year of sample conversations in a temporary store, ask seven questions, and forget a day.

    This needs no network, no key and no model. With the laboratory installed (pip install recollect-lab), --recipe and
    --all show recipes at work. Recorded replies then take the place of a model.
    """
    if recipe is not None or everything:
        raise report_missing_laboratory("recollect demo --all" if everything else "recollect demo --recipe")
    show_demo(keep=keep)


def show_demo(*, keep: bool) -> None:
    """Show the demo that needs no model. ``keep`` keeps its store afterwards."""
    sample = _read_sample()
    with _open_folder(keep) as folder:
        run(_show(folder, sample))
        _epilogue(folder if keep else None)


def _read_sample() -> Sample:
    from recollect.formats import Format, read_messages
    from recollect.sample import sample_path

    with sample_path() as path:
        lines = path.read_text("utf-8").splitlines()
    sessions: dict[str, list[Message]] = {}
    for spoken in read_messages(lines, format=Format.JSONL, now=datetime.now(UTC)):
        sessions.setdefault(spoken.session, []).append(spoken.message)
    questions = (_question(row) for row in map(json.loads, lines) if row["type"] == "question")
    return Sample(sessions=sessions, questions={question.id: question for question in questions})


def _question(row: Mapping[str, Any]) -> SampleQuestion:
    return SampleQuestion(
        id=row["id"],
        text=row["text"],
        at=datetime.fromisoformat(row["at"]),
        answer=row.get("answer", ""),
        evidence=tuple(row.get("evidence", ())),
    )


@contextmanager
def _open_folder(keep: bool) -> Iterator[Path]:
    if keep:
        yield Path(mkdtemp(prefix="recollect-demo-"))
        return
    with TemporaryDirectory(prefix="recollect-demo-") as folder:
        yield Path(folder)


async def _show(folder: Path, sample: Sample) -> None:
    from recollect.app import Memory, build_embedder

    _introduce(sample)
    began = time.perf_counter()
    embedder = build_embedder(None)
    await embedder.embed(["Read the word vectors now, so that the times below are those of a running program."])
    async with Memory.open(folder, embedder=embedder, model="none") as memory:
        bank = await memory.bank(BANK)
        opened = time.perf_counter()
        for session, messages in sample.sessions.items():
            await bank.retain(messages, session=session)
        retained = time.perf_counter()
        asked = [await _ask(bank, question) for question in _load_questions(sample)]
        for number, one in enumerate(asked, start=1):
            _show_answer(number, one)
        _show_score(asked)
        forgetting = await _show_forgetting(bank, asked[0].question)
    kept = sum(map(len, sample.sessions.values()))
    _show_times(opened - began, retained - opened, kept, [one.seconds for one in asked], forgetting)


def _introduce(sample: Sample) -> None:
    messages = [message for session in sample.sessions.values() for message in session]
    names = list(dict.fromkeys(message.speaker for message in messages))
    first, last = (datetime.fromisoformat(name) for name in (min(sample.sessions), max(sample.sessions)))
    asked = sample.questions[ASKED_QUESTIONS[0]].at
    print_line(
        indent_text(
            f"A year of conversations between "
            f"{', '.join(names[:-1])} and {names[-1]}: "
            f"{format_count(len(messages), 'message')} in "
            f"{format_count(len(sample.sessions), 'session')}, from {first:%B %Y} to {last:%B %Y}.\n"
            f"Kept word for word in a temporary store, and asked about on {asked:%d %B %Y}.\n"
            f"✓ marks the messages that are known to hold the answer, with the score before each.",
            "",
            fold=True,
        )
    )


def _load_questions(sample: Sample) -> list[SampleQuestion]:
    questions = [sample.questions[id_] for id_ in ASKED_QUESTIONS]
    return [
        replace(question, text=REWORDED_QUESTIONS[question.id][0], answer=REWORDED_QUESTIONS[question.id][1])
        if question.id in REWORDED_QUESTIONS
        else question
        for question in questions
    ]


async def _ask(bank: Bank, question: SampleQuestion) -> AskedQuestion:
    began = time.perf_counter()
    found = await bank.recall(question.text, limit=SHOWN_EVIDENCE, now=question.at)
    return AskedQuestion(question=question, found=found, seconds=time.perf_counter() - began)


def _show_answer(number: int, asked: AskedQuestion) -> None:
    took = f"{asked.seconds * 1e3:.0f} ms"
    print_line(f"\n{format_strong(f'{number}. {asked.question.text}')}  {format_faint(took)}")
    print_line(indent_text(f"{BLURBS[asked.question.id]}\nKnown answer: {asked.question.answer}.", "   ", fold=True))
    for piece, gold in zip(asked.found.evidence, asked.mark_gold(), strict=True):
        print_line(format_evidence_line(piece, gold=gold, columns=terminal_width()))


def _show_score(asked: list[AskedQuestion]) -> None:
    answerable = [one for one in asked if one.question.evidence]
    hits = sum(any(one.mark_gold()) for one in answerable)
    print_line(
        f"\nEvidence among the first {SHOWN_EVIDENCE} for {hits} of {len(answerable)} questions that have an answer."
    )


async def _show_forgetting(bank: Bank, question: SampleQuestion) -> float:
    print_line(f"\n{format_strong(f'Forget the session {FORGOTTEN}')}")
    receipt = await bank.forget(session=FORGOTTEN)
    print_line(indent_text(format_forget_receipt(receipt), "   ", fold=True))
    again = await _ask(bank, question)
    print_line(f'   asked again, "{question.text}" finds {_describe_remaining(again)}')
    return receipt.seconds


def _describe_remaining(again: AskedQuestion) -> str:
    return "some of it still" if any(again.mark_gold()) else "nothing of that day"


def _show_times(opening: float, retaining: float, messages: int, recalls: list[float], forgetting: float) -> None:
    rows = (
        ("open", f"{opening * 1e3:.0f} ms", "an empty store, and the word vectors"),
        ("retain", f"{retaining * 1e3:.0f} ms", f"{messages} messages, {messages / retaining:,.0f} a second"),
        ("recall", f"{median(recalls) * 1e3:.0f} ms", f"median of {len(recalls)}"),
        ("forget", f"{forgetting * 1e3:.0f} ms", "with the check that nothing is left"),
    )
    print_line(f"\n{format_strong('It took')}\n{indent_text(format_table(rows, right=(1,)), '   ')}")


def _epilogue(kept: Path | None) -> None:
    if kept is not None:
        print_line(f"\n{format_strong('The store is in')} {kept}")
        print_line(f'   recollect recall "Who looks after the cat?" --bank {BANK} --store {kept}')
    print_line(f"\n{format_strong('Now with your own')} (a chat log, JSON Lines, or an OpenAI transcript)")
    print_line("   recollect retain chat.txt")
    print_line('   recollect recall "What did I say about the cat?"')
