"""The command ``recollect demo`` with the laboratory: it also shows recipes at work, with recorded replies of a
model.
"""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.demo import show_demo
from recollect.cli.runtime import usage_errors
from recollect.errors import InvalidInput
from recollect_lab.cli.comparison import show_comparison
from recollect_lab.cli.rehearsal import SHOWN_SECTIONS, show_rehearsal

app = typer.Typer(rich_markup_mode=None)


@app.command(short_help="Try recollect on a year of sample conversations.")
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the store, and print its folder.")] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            metavar="NAME",
            help=f"Show this recipe with recorded replies of a model: {', '.join(SHOWN_SECTIONS)}.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Compare all recipes that have recorded replies, on the same questions.")
    ] = False,
) -> None:
    """Store a year of sample conversations in a temporary store, ask seven questions, and forget a day.

    This needs no network, no key and no model. With --recipe, recorded replies take the place of a model, and the demo
    shows the memory that the recipe built and its answers instead. With --all, it compares the answers of all recipes.
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
        raise InvalidInput(f"there is no demo of {recipe!r}. There are demos of: {', '.join(SHOWN_SECTIONS)}")
    if recipe is not None and everything:
        raise InvalidInput("--recipe shows one recipe and --all shows all recipes. Give only one of them")
    if keep and (recipe is not None or everything):
        raise InvalidInput("only the demo without a model can be kept. Leave out --keep")
