"""The commands ``recollect ask`` and ``recollect reflect``: they answer questions from a bank."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from recollect.cli import options
from recollect.cli.answers import format_answer, format_answer_receipt
from recollect.cli.output import print_json, print_line, print_note
from recollect.cli.runtime import NOTHING_FOUND, load_chosen_settings, usage_errors, with_bank
from recollect.cli.story import format_story
from recollect.cli.times import local_now, parse_span, parse_zone

if TYPE_CHECKING:
    from recollect.app import Settings
    from recollect.domain.answers import Answer
    from recollect.memory.bank import Bank
    from recollect.memory.query_options import RecallOptions

Question: TypeAlias = Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in words.")]
MaxTokens: TypeAlias = Annotated[
    int, typer.Option("--max-tokens", metavar="N", help="Show the model at most N tokens of evidence.")
]
AsOf: TypeAlias = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Use only what was recorded by this time.")
]
Now: TypeAlias = Annotated[
    str | None,
    typer.Option("--now", metavar="TIME", help='The present for words like "last week". Default: the current time.'),
]
Trace: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--trace", help="First show how the answer was found: the searches, their results and what was missing."
    ),
]
Receipt: TypeAlias = Annotated[bool, typer.Option("--receipt", help="Print the steps and their costs.")]


def ask(
    question: Question,
    store: options.Store = None,
    bank: options.Bank = "default",
    recipe: options.Recipe = None,
    model: options.Model = None,
    max_tokens: MaxTokens = 4096,
    as_of: AsOf = None,
    now: Now = None,
    zone: options.Zone = "UTC",
    embedder: options.Embedder = None,
    trace: Trace = False,
    receipt: Receipt = False,
    json: options.Json = False,
) -> None:
    """Answer a question from the memory in a bank, and cite the sources of the answer.

    Without a language model, the evidence is printed instead. The exit status is 3 if there is no answer.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, recipe=recipe, model=model)
        narrowed = _recall_options(max_tokens, as_of, now, zone)
    answer = _run_question(settings, bank, lambda opened: opened.ask(question, **narrowed))
    _print(answer, question=question if trace else None, receipt=receipt, as_json=json)


def reflect(
    question: Question,
    store: options.Store = None,
    bank: options.Bank = "default",
    recipe: options.Recipe = None,
    model: options.Model = None,
    max_tokens: MaxTokens = 4096,
    as_of: AsOf = None,
    now: Now = None,
    zone: options.Zone = "UTC",
    embedder: options.Embedder = None,
    trace: Trace = False,
    receipt: Receipt = False,
    json: options.Json = False,
) -> None:
    """Answer from the profile of the bank's agent, and form opinions if the question asks for a judgement.

    This needs a language model. The exit status is 3 if the bank contains nothing to answer from.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, recipe=recipe, model=model)
        narrowed = _recall_options(max_tokens, as_of, now, zone)
    answer = _run_question(settings, bank, lambda opened: opened.reflect(question, **narrowed))
    _print(answer, question=question if trace else None, receipt=receipt, as_json=json)


def _recall_options(max_tokens: int, as_of: str | None, now: str | None, zone: str) -> RecallOptions:
    times = parse_zone(zone)
    return {
        "max_tokens": max_tokens,
        "as_of": None if as_of is None else parse_span(as_of, times)[1],
        "now": local_now() if now is None else parse_span(now, times)[0],
    }


def _run_question(settings: Settings, bank: str, ask: Callable[[Bank], Awaitable[Answer]]) -> Answer:
    async def answer(opened: Bank) -> Answer:
        with usage_errors():  # the bank refuses a bound of 0
            return await ask(opened)

    return with_bank(settings, bank, answer)


def _print(answer: Answer, *, question: str | None, receipt: bool, as_json: bool) -> None:
    """Print an answer. If ``question`` is its question, first print the story of how the answer was found."""
    from recollect.domain.codec import to_json

    if as_json:
        print_json(to_json(answer))
    else:
        if question is not None:
            print_line(f"{format_story(question, answer)}\n")
        if answer.text or answer.evidence:
            print_line(format_answer(answer))
        for note in answer.receipt.notes:
            print_note(note)
        if receipt:
            print_line(format_answer_receipt(answer))
    if answer.abstained:
        raise typer.Exit(NOTHING_FOUND)
