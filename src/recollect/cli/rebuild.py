"""The command ``recollect rebuild``: it makes new vectors for a bank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import format_count, print_json, print_line
from recollect.cli.runtime import load_chosen_settings, require_store, usage_errors, with_memory

if TYPE_CHECKING:
    from recollect.app import Memory
    from recollect.domain.banks import BankInfo


def rebuild(
    bank: Annotated[str, typer.Argument(metavar="BANK", help="The name of the bank.")],
    store: options.Store = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Embed every item of a bank again, for example with another embedder. Nothing else changes.

    The embedder none removes the vectors.
    """
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    require_store(settings, bank)

    async def work(memory: Memory) -> BankInfo:
        return await (await memory.rebuild(bank)).info()

    info = with_memory(settings, work)
    if json:
        print_json(to_json(info))
    elif not info.dimension:
        print_line(f"removed the vectors of {format_count(info.items, 'item')} of bank {bank}")
    else:
        print_line(f"embedded {format_count(info.items, 'item')} of bank {bank} with {info.embedder}")
