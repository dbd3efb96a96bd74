"""The command ``recollect recall``: it finds evidence for a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.evidence import format_evidence, format_recall_receipt
from recollect.cli.output import print_json, print_line, print_note
from recollect.cli.runtime import NOTHING_FOUND, load_chosen_settings, usage_errors, with_bank
from recollect.cli.times import local_now, parse_interval, parse_span, parse_zone

if TYPE_CHECKING:
    from recollect.domain.recalls import Recall
    from recollect.memory.bank import Bank

Names = list[str] | None
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="Return at most N pieces of evidence.")]
MaxTokens = Annotated[
    int, typer.Option("--max-tokens", metavar="N", help="Return at most N tokens of evidence in total.")
]
Kind = Annotated[Names, typer.Option("--kind", metavar="KIND", help="Only items of this kind. May be repeated.")]
Session = Annotated[Names, typer.Option("--session", metavar="NAME", help="Only from this session. May be repeated.")]
Speaker = Annotated[
    Names, typer.Option("--speaker", metavar="NAME", help="Only what this speaker said. May be repeated.")
]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Use only what was recorded by this time.")]
Exclude = Annotated[
    Names, typer.Option("--exclude", metavar="ID", help="Leave out this message or item. May be repeated.")
]
Now = Annotated[
    str | None,
    typer.Option("--now", metavar="TIME", help='The present for words like "last week". Default: the current time.'),
]


def recall(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question, or any words to search for.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    limit: Limit = 10,
    max_tokens: MaxTokens = 4096,
    effort: options.Effort = "mid",
    kind: Kind = None,
    session: Session = None,
    speaker: Speaker = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: AsOf = None,
    exclude: Exclude = None,
    now: Now = None,
    zone: options.Zone = "UTC",
    recipe: options.Recipe = None,
    arms: options.Arms = None,
    embedder: options.Embedder = None,
    reranker: options.Reranker = None,
    receipt: Annotated[bool, typer.Option("--receipt", help="Print the result of each arm.")] = False,
    json: options.Json = False,
) -> None:
    """Find evidence for a question in a bank. The best comes first, and each piece shows why it was found.

    The exit status is 3 if nothing was found.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, reranker=reranker, recipe=recipe, arms=arms)
        times = parse_zone(zone)
        during = parse_interval(since, until, times)
        known = None if as_of is None else parse_span(as_of, times)[1]
        moment = local_now() if now is None else parse_span(now, times)[0]

    async def ask(opened: Bank) -> Recall:
        with usage_errors():  # the bank refuses a limit of 0 or an unknown kind
            return await opened.recall(
                question,
                limit=limit,
                max_tokens=max_tokens,
                effort=effort,
                kinds=kind or (),
                sessions=session or (),
                speakers=speaker or (),
                during=during,
                as_of=known,
                exclude=exclude or (),
                now=moment,
            )

    _print(with_bank(settings, bank, ask), receipt=receipt, as_json=json)


def _print(found: Recall, *, receipt: bool, as_json: bool) -> None:
    from recollect.domain.codec import to_json

    if as_json:
        print_json(to_json(found))
    else:
        for rank, evidence in enumerate(found.evidence, start=1):
            print_line(format_evidence(rank, evidence))
        if not found.evidence:
            print_note("nothing found")
        for loss in found.receipt.losses:
            print_note(f"the bank is not complete: {loss}")
        if not found.receipt.complete and not found.receipt.losses:
            print_note("not every arm could search; see --receipt")
        for note in found.receipt.notes:
            print_note(note)
        if receipt:
            print_line(format_recall_receipt(found.receipt))
    if not found.evidence:
        raise typer.Exit(NOTHING_FOUND)
