"""The command ``recollect forget``: it removes messages and everything derived from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.evidence import format_forget_receipt, list_forget_notes
from recollect.cli.output import indent_text, print_json, print_line, print_note
from recollect.cli.runtime import (
    FAILED,
    NOTHING_FOUND,
    confirm,
    load_chosen_settings,
    require_store,
    usage_errors,
    with_bank,
)
from recollect.cli.times import parse_interval, parse_zone
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.domain.receipts import ForgetReceipt

Names = list[str] | None


def forget(
    store: options.Store = None,
    bank: options.Bank = "default",
    message: Annotated[
        Names, typer.Option("--message", metavar="ID", help="Forget this message. May be repeated.")
    ] = None,
    session: Annotated[
        Names, typer.Option("--session", metavar="NAME", help="Forget this whole session. May be repeated.")
    ] = None,
    speaker: Annotated[
        Names,
        typer.Option("--speaker", metavar="NAME", help="Forget everything that this speaker said. May be repeated."),
    ] = None,
    entity: Annotated[
        Names,
        typer.Option("--entity", metavar="NAME", help="Forget everything that mentions this entity. May be repeated."),
    ] = None,
    fact: Annotated[
        Names, typer.Option("--fact", metavar="ID", help="Forget this given fact. May be repeated.")
    ] = None,
    since: options.Since = None,
    until: options.Until = None,
    zone: options.Zone = "UTC",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing. Show what would be forgotten.")] = False,
    yes: options.Yes = False,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Remove every message that matches ANY of these options, with everything derived from it, and check that it is
    gone.

    Given facts without a source match --entity, --since and --until as messages do. They also match --fact.

    Messages in which a name only might be meant stay. Their ids are listed.

    The exit status is 1 if the check found remains or could not be completed, and 3 if nothing matched.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
        during = parse_interval(since, until, parse_zone(zone))
        named = {"message": message, "session": session, "speaker": speaker, "entity": entity, "fact": fact}
        what = [f"{kind} {name!r}" for kind, names in named.items() for name in names or ()]
        what += [f"said {since or 'from the beginning'} to {until or 'now'}"] if during else []
        if not what:
            raise InvalidInput(
                "give at least one of --message, --session, --speaker, --entity, --fact, --since or --until"
            )
    require_store(settings, bank)
    if not dry_run:
        confirm(f"Forget everything in bank {bank!r} that matches any of: {', '.join(what)}?", yes=yes)
    receipt = with_bank(
        settings,
        bank,
        lambda opened: opened.forget(
            messages=message or (),
            session=session or (),
            speaker=speaker or (),
            entity=entity or (),
            facts=fact or (),
            during=during,
            dry_run=dry_run,
        ),
    )
    _print(receipt, as_json=json)


def _print(receipt: ForgetReceipt, *, as_json: bool) -> None:
    from recollect.domain.codec import to_json

    if as_json:
        print_json({**to_json(receipt), "verified": receipt.verified, "dry_run": receipt.dry_run})
    elif receipt.messages or receipt.items:
        print_line(indent_text(format_forget_receipt(receipt), ""))
    else:
        print_note("nothing was forgotten: no message and no given fact matches any of these")
        for note in list_forget_notes(receipt):
            print_note(note)
    if not receipt.messages and not receipt.items:
        raise typer.Exit(NOTHING_FOUND)
    if not receipt.verified and not receipt.dry_run:
        raise typer.Exit(FAILED)
