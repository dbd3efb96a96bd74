"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FOLDER",
        help="The folder with the banks. Default: $RECOLLECT_STORE, or else ./recollect-data.",
    ),
]
Bank = Annotated[str, typer.Option("--bank", metavar="NAME", help="The name of the bank.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="The embedder: none, wordllama, wordllama-128, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL. "
        "Default: $RECOLLECT_EMBEDDER, or else wordllama if it is installed.",
    ),
]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="NAME",
        help="The reranker: none, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL. "
        "Default: $RECOLLECT_RERANKER, or else none.",
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help="The recipe for storing, finding and answering: "
        "default, tempr, hindsight, remem, remem_single, memr3, recmem, emem, "
        "or a recipe of another package (see `recollect recipes`). Default: $RECOLLECT_RECIPE, or else default.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The language model, as PROVIDER:MODEL. Default: $RECOLLECT_MODEL, or else none. "
        "$RECOLLECT_BASE_URL is its address.",
    ),
]
Arms = Annotated[
    str | None,
    typer.Option(
        "--arms", metavar="NAMES", help="Use only these arms, separated by commas: semantic,lexical,graph,temporal."
    ),
]
Effort = Annotated[str, typer.Option("--effort", metavar="EFFORT", help="How thoroughly to search: low, mid or high.")]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help="From this time on, such as 2023, 2023-07, 2023-07-11 or 2023-07-11T18:05."
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Until this time. A day, a month or a year is included to its end."),
]
Zone = Annotated[
    str,
    typer.Option(
        "--zone", metavar="ZONE", help="The time zone of times that name none, such as Europe/London or +01:00."
    ),
]
