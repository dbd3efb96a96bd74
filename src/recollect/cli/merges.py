"""``recollect merges``: which names were taken for one and the same, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import printable, remark, say, say_json, table
from recollect.cli.running import chosen, usage, with_bank

if TYPE_CHECKING:
    from recollect.domain.entities import Merge


def merges(
    store: options.Store = None,
    bank: options.Bank = "default",
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="ID", help="Take this one back: the name gets an entity of its own.")
    ] = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List the decisions that a name means somebody known by another name, with their scores; or take one back."""
    from recollect.domain.codec import to_json

    with usage():
        settings = chosen(store=store, embedder=embedder)
    if undo is not None:
        merge = with_bank(settings, bank, lambda opened: opened.undo_merge(undo))
        say_json(to_json(merge)) if json else say(f"undone: {merge.surface!r} has an entity of its own")
        return
    found = with_bank(settings, bank, lambda opened: opened.merges())
    if json:
        say_json([to_json(merge) for merge in found])
    elif found:
        say(_table(found))
    else:
        remark(f"no merges in bank {bank}")


def _table(found: tuple[Merge, ...]) -> str:
    head = ("merge", "name", "entity", "score", "string", "company", "time", "at", "undone")
    rows = [
        (
            merge.id,
            printable(merge.surface),
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
    return table([head, *rows], right=(3, 4, 5, 6))
