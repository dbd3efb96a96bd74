"""The command ``recollect merges``: it lists which names were merged into one entity, and undoes a merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import format_table, make_printable, print_json, print_line, print_note
from recollect.cli.runtime import load_chosen_settings, usage_errors, with_bank

if TYPE_CHECKING:
    from recollect.domain.entities import Merge


def merges(
    store: options.Store = None,
    bank: options.Bank = "default",
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="ID", help="Undo this merge. The name gets a separate entity.")
    ] = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List the merges with their scores, or undo one. A merge decides that a name means an entity with another name."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    if undo is not None:
        merge = with_bank(settings, bank, lambda opened: opened.undo_merge(undo))
        print_json(to_json(merge)) if json else print_line(f"undone: {merge.surface!r} has a separate entity now")
        return
    found = with_bank(settings, bank, lambda opened: opened.merges())
    if json:
        print_json([to_json(merge) for merge in found])
    elif found:
        print_line(_format_merges(found))
    else:
        print_note(f"no merges in bank {bank}")


def _format_merges(found: tuple[Merge, ...]) -> str:
    head = ("merge", "name", "entity", "score", "string", "company", "time", "at", "undone")
    rows = [
        (
            merge.id,
            make_printable(merge.surface),
            merge.entity,
            f"{merge.score:.2f}",
            f"{merge.string:.2f}",
            f"{merge.cooccurrence:.2f}",
            f"{merge.temporal:.2f}",
            f"{merge.at:%Y-%m-%d}",
            f"{merge.undone:%Y-%m-%d}" if merge.undone else "",
        )
        for merge in found
    ]
    return format_table([head, *rows], right=(3, 4, 5, 6))
