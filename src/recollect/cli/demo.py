"""``recollect demo``: a year of talk, kept and asked about, in a few seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.comparison import show_comparison
from recollect.cli.evidence import evidence_line, forget_block
from recollect.cli.output import count, faint, indented, say, strong, table, width
from recollect.cli.rehearsal import SHOWN as REHEARSED
from recollect.cli.rehearsal import show_rehearsal
from recollect.cli.running import run, usage
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.domain.recalls import Recall
    from recollect.evals.dataset import Conversation, Question
    from recollect.memory.bank import Bank

BANK = "sample"
SHOWN = 3
FORGOTTEN = "2023-07-11"
ASKED = ("q25", "q15", "q49", "q40", "q60", "q29", "q65")
"""Questions of the sample, a category each."""

REWORDED = {"q29": ("What happened to Bram last October?", "his bakery's oven died, on Friday 13 October 2023")}
"""In other words than the sample's, so that the time is meant relative to the day of asking."""

BLURBS = {
    "q25": "Said once, a year before; the words hold no date.",
    "q15": "The answer lies in two places.",
    "q49": "First given wrongly, corrected later.",
    "q40": "Nobody said Nutella; an allergy was told once, months before.",
    "q60": "A preference, said in passing.",
    "q29": "The time depends on when it is asked.",
    "q65": "Nobody said. Recall gives what lies nearest, and leaves the judging to its reader.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question put: what came back, and how long it took."""

    question: Question
    found: Recall
    seconds: float

    def gold(self) -> tuple[bool, ...]:
        """Whether each piece of evidence holds a message that the sample names as the answer's."""
        return tuple(not set(self.question.evidence).isdisjoint(piece.sources) for piece in self.found.evidence)


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the store, and say where it is.")] = False,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help=f"With recorded replies of a model: {', '.join(REHEARSED)}."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every recipe with recorded replies, side by side on the same questions.")
    ] = False,
) -> None:
    """Keep a year of sample talk in a temporary store, ask it seven questions, and forget a day.

    Needs no network, no key and no model. With --recipe, replies that were recorded stand in for a model, and the demo
    shows what the recipe made of the talk, and its answers, instead; with --all, how all of them answered.
    """
    with usage():
        _require_demo(recipe, keep, everything)
    if everything:
        show_comparison()
    elif recipe is None:
        _demonstrate(keep)
    else:
        show_rehearsal(recipe)


def _require_demo(recipe: str | None, keep: bool, everything: bool) -> None:
    if recipe is not None and recipe not in REHEARSED:
        raise InvalidInput(f"there is no demo of {recipe!r}; there are: {', '.join(REHEARSED)}")
    if recipe is not None and everything:
        raise InvalidInput("--recipe shows one and --all shows all; give one of them")
    if keep and (recipe is not None or everything):
        raise InvalidInput("only the demo without a model can be kept; leave --keep out")


def _demonstrate(keep: bool) -> None:
    from recollect.evals.datasets.jsonl import load
    from recollect.sample import sample_path

    with sample_path() as path:
        conversation = load(path).conversations[0]
    with _folder(keep) as folder:
        run(_show(folder, conversation))
        _epilogue(folder if keep else None)


@contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    if keep:
        yield Path(mkdtemp(prefix="recollect-demo-"))
        return
    with TemporaryDirectory(prefix="recollect-demo-") as folder:
        yield Path(folder)


async def _show(folder: Path, conversation: Conversation) -> None:
    from recollect.app import Memory, embedder_named

    _introduce(conversation)
    began = time.perf_counter()
    embedder = embedder_named("wordllama")
    await embedder.embed(["Read the word vectors now, so that the times below are those of a running program."])
    async with Memory.open(folder, embedder=embedder, model="none") as memory:
        bank = await memory.bank(BANK)
        opened = time.perf_counter()
        for session in conversation.sessions:
            await bank.retain(session.messages, session=session.id)
        retained = time.perf_counter()
        asked = [await _ask(bank, question) for question in _questions(conversation)]
        for number, one in enumerate(asked, start=1):
            _show_answer(number, one)
        _show_score(asked)
        forgetting = await _show_forgetting(bank, asked[0].question)
    messages = sum(len(session.messages) for session in conversation.sessions)
    _show_times(opened - began, retained - opened, messages, [one.seconds for one in asked], forgetting)


def _introduce(conversation: Conversation) -> None:
    sessions = conversation.sessions
    messages = [message for session in sessions for message in session.messages]
    names = list(dict.fromkeys(message.speaker for message in messages))
    asked = conversation.questions[0].at
    say(
        indented(
            f"A year of talk between {', '.join(names[:-1])} and {names[-1]}: {count(len(messages), 'message')} in "
            f"{count(len(sessions), 'session')}, from {sessions[0].at:%B %Y} to {sessions[-1].at:%B %Y}.\n"
            f"Kept word for word in a temporary store, and asked about on {asked:%d %B %Y}.\n"
            f"✓ marks the messages that are known to hold the answer, with the score before each.",
            "",
            fold=True,
        )
    )


def _questions(conversation: Conversation) -> list[Question]:
    known = {question.id: question for question in conversation.questions}
    for name, (text, answer) in REWORDED.items():
        known[name] = replace(known[name], text=text, answer=answer)
    return [known[name] for name in ASKED]


async def _ask(bank: Bank, question: Question) -> Asked:
    began = time.perf_counter()
    found = await bank.recall(question.text, limit=SHOWN, now=question.at)
    return Asked(question=question, found=found, seconds=time.perf_counter() - began)


def _show_answer(number: int, asked: Asked) -> None:
    took = f"{asked.seconds * 1e3:.0f} ms"
    say(f"\n{strong(f'{number}. {asked.question.text}')}  {faint(took)}")
    say(indented(f"{BLURBS[asked.question.id]}\nKnown answer: {asked.question.answer}.", "   ", fold=True))
    for piece, gold in zip(asked.found.evidence, asked.gold(), strict=True):
        say(evidence_line(piece, gold=gold, columns=width()))


def _show_score(asked: list[Asked]) -> None:
    answerable = [one for one in asked if one.question.evidence]
    hits = sum(any(one.gold()) for one in answerable)
    say(f"\nEvidence among the first {SHOWN} for {hits} of {len(answerable)} questions that have an answer.")


async def _show_forgetting(bank: Bank, question: Question) -> float:
    say(f"\n{strong(f'Forget the session {FORGOTTEN}')}")
    receipt = await bank.forget(session=FORGOTTEN)
    say(indented(forget_block(receipt), "   ", fold=True))
    again = await _ask(bank, question)
    say(f'   asked again, "{question.text}" finds {_left(again)}')
    return receipt.seconds


def _left(again: Asked) -> str:
    return "some of it still" if any(again.gold()) else "nothing of that day"


def _show_times(opening: float, retaining: float, messages: int, recalls: list[float], forgetting: float) -> None:
    rows = (
        ("open", f"{opening * 1e3:.0f} ms", "an empty store, and the word vectors"),
        ("retain", f"{retaining * 1e3:.0f} ms", f"{messages} messages, {messages / retaining:,.0f} a second"),
        ("recall", f"{median(recalls) * 1e3:.0f} ms", f"median of {len(recalls)}"),
        ("forget", f"{forgetting * 1e3:.0f} ms", "with the check that nothing is left"),
    )
    say(f"\n{strong('It took')}\n{indented(table(rows, right=(1,)), '   ')}")


def _epilogue(kept: Path | None) -> None:
    if kept is not None:
        say(f"\n{strong('The store is in')} {kept}")
        say(f'   recollect recall "Who looks after the cat?" --bank {BANK} --store {kept}')
    say(f"\n{strong('Now with your own')} (a chat log, JSON Lines, or an OpenAI transcript)")
    say("   recollect retain chat.txt")
    say('   recollect recall "What did I say about the cat?"')
