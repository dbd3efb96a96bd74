"""The command ``recollect eval cost``: it compares what building memory costs in several systems."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import print_json, print_line, print_note
from recollect.cli.runtime import load_chosen_settings, run, usage_errors
from recollect.errors import InvalidInput
from recollect_lab.cli.evaluate import find_loader

if TYPE_CHECKING:
    from recollect.app import Settings
    from recollect.models.embedder import Embedder
    from recollect_lab.cost.report import CostReport
    from recollect_lab.cost.systems import CostSystem
    from recollect_lab.datasets.dataset import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSettings:
    """The settings of a measurement. The report publishes them."""

    systems: tuple[str, ...]
    embedder: str
    dimension: int
    theta_sim: float | None
    limit: int | None


def cost(
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="KIND", help="The format of the file: jsonl, locomo or longmemeval.")
    ],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The data file, gzip or plain.")],
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            metavar="NAME",
            help="What to measure: a recipe; recmem@N, which consolidates after N similar messages; or eager, which "
            "calls a model for each pair of messages. May be repeated. "
            "Default: recmem, recmem@3 to recmem@6, eager, remem and hindsight.",
        ),
    ] = None,
    theta_sim: Annotated[
        float | None,
        typer.Option(
            "--theta-sim",
            metavar="COSINE",
            help="The cosine from which two messages count as similar. Default: the threshold of a new bank.",
        ),
    ] = None,
    embedder: options.Embedder = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Use only the first N conversations.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Measure what it costs to build memory from conversations.

    No model is called. A stub returns replies of realistic length, made of words from the prompt. Banks are kept only
    in memory.
    """
    with usage_errors():
        settings = load_chosen_settings(embedder=embedder)
        read = find_loader(dataset)
        if limit is not None and limit < 1:
            raise InvalidInput("--limit must be 1 or more")
    loaded = read(data)
    report = run(_run_evaluation(loaded, settings, system, theta_sim, limit))
    print_json(report.to_json()) if json else print_line(report.to_table())
    for name, one in report.systems.items():
        for conversation, problems in one.problems.items():
            for problem in problems:
                print_note(f"{name}, {conversation}: {problem}")


async def _run_evaluation(
    dataset: Dataset, settings: Settings, names: Sequence[str] | None, theta_sim: float | None, limit: int | None
) -> CostReport:
    from recollect.app import build_embedder, connect_embedder
    from recollect_lab.cost.evaluate import evaluate_cost
    from recollect_lab.cost.systems import DEFAULT_SYSTEMS
    from recollect_lab.reports.provenance import gather_provenance

    embedder = await connect_embedder(build_embedder(settings.embedder, api_key=settings.api_key))
    wanted = CostSettings(
        systems=tuple(dict.fromkeys(names or DEFAULT_SYSTEMS)),
        embedder=embedder.name,
        dimension=embedder.dimension,
        theta_sim=theta_sim,
        limit=limit,
    )
    systems = _build_systems(wanted, embedder)
    provenance = gather_provenance(dataset, settings=wanted, at=datetime.now(UTC))
    return await evaluate_cost(
        dataset, systems, embedder, provenance=provenance, limit=limit, progress=_make_progress()
    )


def _build_systems(wanted: CostSettings, embedder: Embedder) -> list[CostSystem]:
    from recollect_lab.cost.systems import build_system

    with usage_errors():
        return [build_system(name, embedder, theta_sim=wanted.theta_sim) for name in wanted.systems]


def _make_progress() -> Callable[[str], None] | None:
    return print_note if sys.stderr.isatty() else None
