"""``recollect demo`` with the laboratory: it also shows recipes at work, with recorded replies in place of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.demo import show_demo
from recollect.cli.runtime import usage_errors
from recollect.errors import InvalidInput
from recollect_lab.cli.comparison import show_comparison
from recollect_lab.cli.rehearsal import SHOWN_SECTIONS, show_rehearsal

app = typer.Typer(rich_markup_mode=None)


@app.command(short_help="See it work on a year of sample talk.")
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the store, and say where it is.")] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe", metavar="NAME", help=f"With recorded replies of a model: {', '.join(SHOWN_SECTIONS)}."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every recipe with recorded replies, side by side on the same questions.")
    ] = False,
) -> None:
    """Keep a year of sample talk in a temporary store, ask it seven questions, and forget a day.

    Needs no network, no key and no model. With --recipe, replies that were recorded stand in for a model, and the demo
    shows what the recipe made of the talk, and its answers, instead; with --all, how all of them answered.
    """
    with usage_errors():
        _require_demo(recipe, keep, everything)
    if everything:
        show_comparison()
    elif recipe is None:
        show_demo(keep=keep)
    else:
        show_rehearsal(recipe)


def _require_demo(recipe: str | None, keep: bool, everything: bool) -> None:
    if recipe is not None and recipe not in SHOWN_SECTIONS:
        raise InvalidInput(f"there is no demo of {recipe!r}; there are: {', '.join(SHOWN_SECTIONS)}")
    if recipe is not None and everything:
        raise InvalidInput("--recipe shows one and --all shows all; give one of them")
    if keep and (recipe is not None or everything):
        raise InvalidInput("only the demo without a model can be kept; leave --keep out")
