"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="FOLDER", help="Where the banks are; else $RECOLLECT_STORE, else ./recollect-data."
    ),
]
Bank = Annotated[str, typer.Option("--bank", metavar="NAME", help="Which bank.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="none, wordllama, wordllama-128, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL; "
        "else $RECOLLECT_EMBEDDER, else wordllama where it is installed.",
    ),
]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="NAME",
        help="none, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL; else $RECOLLECT_RERANKER, else none.",
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help="How to keep, find and answer: default, tempr, hindsight, remem, remem_single, memr3, recmem or emem; "
        "or another package's (`recollect recipes`); else $RECOLLECT_RECIPE, else default.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="A language model, PROVIDER:MODEL; else $RECOLLECT_MODEL, else none. $RECOLLECT_BASE_URL says where.",
    ),
]
Arms = Annotated[
    str | None,
    typer.Option("--arms", metavar="NAMES", help="Only these of semantic,lexical,graph,temporal."),
]
Effort = Annotated[str, typer.Option("--effort", metavar="EFFORT", help="How hard to look: low, mid or high.")]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="From this time on: 2023, 2023-07, 2023-07-11, 2023-07-11T18:05."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Up to this time; a day, month or year to its end.")
]
Zone = Annotated[
    str,
    typer.Option("--zone", metavar="ZONE", help="Of times that name none: Europe/London, +01:00."),
]
