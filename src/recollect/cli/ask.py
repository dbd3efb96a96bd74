"""``recollect ask`` and ``recollect reflect``: answers from what a bank holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from recollect.cli import options
from recollect.cli.answers import answer_block, answer_receipt
from recollect.cli.output import remark, say, say_json
from recollect.cli.running import NOTHING_FOUND, chosen, usage, with_bank
from recollect.cli.story import story
from recollect.cli.times import present, span, zone_named

if TYPE_CHECKING:
    from recollect.app import Settings
    from recollect.domain.answers import Answer
    from recollect.memory.asking import RecallOptions
    from recollect.memory.bank import Bank

Question: TypeAlias = Annotated[str, typer.Argument(metavar="QUESTION", help="In words.")]
MaxTokens: TypeAlias = Annotated[
    int, typer.Option("--max-tokens", metavar="N", help="Show the model at most so many tokens of evidence.")
]
AsOf: TypeAlias = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Answer with what was recorded by then.")
]
Now: TypeAlias = Annotated[
    str | None, typer.Option("--now", metavar="TIME", help='What "last week" is read against; else the present.')
]
Trace: TypeAlias = Annotated[
    bool, typer.Option("--trace", help="Tell first how the answer came about: what was looked for, found and missing.")
]
Receipt: TypeAlias = Annotated[bool, typer.Option("--receipt", help="Print the steps and what they cost.")]


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
    """Answer a question from what a bank holds, with what the answer rests on.

    Without a language model the evidence is printed instead. Exit status 3 where there is no answer.
    """
    with usage():
        settings = chosen(store=store, embedder=embedder, recipe=recipe, model=model)
        narrowed = _narrowed(max_tokens, as_of, now, zone)
    answer = _answered(settings, bank, lambda opened: opened.ask(question, **narrowed))
    _print(answer, told=question if trace else None, receipt=receipt, as_json=json)


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
    """Answer as the bank's profile would, and form opinions where the question calls for judgement.

    Needs a language model. Exit status 3 where the bank holds nothing to go by.
    """
    with usage():
        settings = chosen(store=store, embedder=embedder, recipe=recipe, model=model)
        narrowed = _narrowed(max_tokens, as_of, now, zone)
    answer = _answered(settings, bank, lambda opened: opened.reflect(question, **narrowed))
    _print(answer, told=question if trace else None, receipt=receipt, as_json=json)


def _narrowed(max_tokens: int, as_of: str | None, now: str | None, zone: str) -> RecallOptions:
    times = zone_named(zone)
    return {
        "max_tokens": max_tokens,
        "as_of": None if as_of is None else span(as_of, times)[1],
        "now": present() if now is None else span(now, times)[0],
    }


def _answered(settings: Settings, bank: str, put: Callable[[Bank], Awaitable[Answer]]) -> Answer:
    async def answer(opened: Bank) -> Answer:
        with usage():  # the bank refuses a bound of 0
            return await put(opened)

    return with_bank(settings, bank, answer)


def _print(answer: Answer, *, told: str | None, receipt: bool, as_json: bool) -> None:
    """Print an answer; with the question that is ``told``, after the story of how it came about."""
    from recollect.domain.codec import to_json

    if as_json:
        say_json(to_json(answer))
    else:
        if told is not None:
            say(f"{story(told, answer)}\n")
        if answer.text or answer.evidence:
            say(answer_block(answer))
        for note in answer.receipt.notes:
            remark(note)
        if receipt:
            say(answer_receipt(answer))
    if answer.abstained:
        raise typer.Exit(NOTHING_FOUND)
