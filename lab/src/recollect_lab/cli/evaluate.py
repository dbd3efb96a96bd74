"""The command ``recollect eval retrieval``: it asks banks questions with known evidence, and scores the results."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import print_json, print_line
from recollect.cli.runtime import load_chosen_settings, run, usage_errors
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.app import Settings
    from recollect.domain.queries import Effort
    from recollect_lab.datasets.dataset import Dataset
    from recollect_lab.evals.conversation_run import EvalProgress
    from recollect_lab.evals.report import RetrievalReport


def retrieval(
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="KIND", help="The format of the file: jsonl, locomo or longmemeval.")
    ],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The data file, gzip or plain.")],
    recipe: options.Recipe = None,
    arms: options.Arms = None,
    effort: options.Effort = "mid",
    embedder: options.Embedder = None,
    reranker: options.Reranker = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Ask only N questions, spread evenly over the file.")
    ] = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", help="How many pieces of evidence to request for each question.")
    ] = 50,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", metavar="FILE", help="Write the result of each question to this file, as JSON Lines."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="FOLDER", help="Keep the banks in this new or empty folder. Default: they are erased."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Measure how much of the known evidence is found.

    Each conversation gets a separate bank, in a temporary folder on disk.
    """
    with usage_errors():
        settings = load_chosen_settings(embedder=embedder, reranker=reranker, recipe=recipe, arms=arms)
        hard = _parse_effort(effort)
        read = find_loader(dataset)
        _check_numbers(limit=limit, depth=depth)
    loaded = read(data)
    with _open_banks_folder(store) as folder, _show_progress() as tell:
        report = run(
            _run_evaluation(loaded, settings, hard, folder, keep=store is not None, limit=limit, depth=depth, tell=tell)
        )
    if rows is not None:
        rows.write_text("".join(f"{jsonlib.dumps(row)}\n" for row in report.rows_json()), "utf-8")
    print_json(report.to_json()) if json else print_line(report.to_table())


async def _run_evaluation(
    dataset: Dataset,
    settings: Settings,
    effort: Effort,
    folder: Path,
    *,
    keep: bool,
    limit: int | None,
    depth: int,
    tell: Callable[[EvalProgress], None],
) -> RetrievalReport:
    from recollect.app import build_embedder, build_reranker, connect_embedder
    from recollect_lab.cli.eval_banks import EvalBanks, make_report_settings
    from recollect_lab.evals.retrieval import evaluate_retrieval
    from recollect_lab.reports.provenance import gather_provenance

    embedder = await connect_embedder(build_embedder(settings.embedder, api_key=settings.api_key))
    reranker = build_reranker(settings.reranker, api_key=settings.api_key)
    described = make_report_settings(settings, effort, embedder, reranker)
    banks = EvalBanks(folder, settings, effort, embedder, reranker, keep=keep)
    provenance = gather_provenance(dataset, settings=described, at=datetime.now(UTC))
    return await evaluate_retrieval(dataset, banks.open, provenance=provenance, depth=depth, limit=limit, progress=tell)


def find_loader(kind: str) -> Callable[[Path], Dataset]:
    """Return the function that reads files of a kind.

    Raises:
        InvalidInput: there is no such kind.
    """
    from recollect_lab.datasets import LOADERS

    if kind not in LOADERS:
        raise InvalidInput(f"--dataset is {kind!r}, but it must be one of {', '.join(LOADERS)}")
    return LOADERS[kind]


def _parse_effort(name: str) -> Effort:
    from recollect.domain.queries import Effort

    try:
        return Effort(name)
    except ValueError as exc:
        raise InvalidInput(f"--effort is {name!r}, but it must be one of {', '.join(Effort)}") from exc


def _check_numbers(*, limit: int | None, depth: int) -> None:
    if depth < 1 or (limit is not None and limit < 1):
        raise InvalidInput("--limit and --depth must be 1 or more")


@contextmanager
def _open_banks_folder(store: str | None) -> Iterator[Path]:
    """Yield a folder for the banks.

    $RECOLLECT_STORE is not used, because the banks of an evaluation must not mix with a user's memory.

    Raises:
        InvalidInput: the given folder is not empty.
    """
    if store is None:
        with TemporaryDirectory(prefix="recollect-eval-") as temporary:
            yield Path(temporary)
        return
    folder = Path(store)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{store} is not empty. The banks of an evaluation need a new or empty folder")
    yield folder


@contextmanager
def _show_progress() -> Iterator[Callable[[EvalProgress], None]]:
    """Show a progress bar on stderr, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions", total=None)
        yield lambda at: bar.update(task, completed=at.done, total=at.total, description=at.conversation)
