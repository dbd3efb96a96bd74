"""The commands ``recollect jobs`` and ``costs``: background jobs with their errors, and the costs of model calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import (
    flatten_line,
    format_count,
    format_faint,
    format_strong,
    format_table,
    indent_text,
    make_printable,
    print_json,
    print_line,
    print_note,
    terminal_width,
    truncate_text,
)
from recollect.cli.runtime import load_chosen_settings, usage_errors, with_bank
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from recollect.app import Settings
    from recollect.domain.jobs import JobRecord
    from recollect.domain.usage import Cost
    from recollect.memory.bank import Bank

Ids = list[str] | None
ALL = "all"


def jobs(
    store: options.Store = None,
    bank: options.Bank = "default",
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state", metavar="STATE", help="Only jobs in this state: waiting, running or dead. May be repeated."
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            "--show", metavar="ID", help="Show everything about one job, including the reply that made it fail."
        ),
    ] = None,
    retry: Annotated[
        Ids,
        typer.Option(
            "--retry",
            metavar="ID",
            help="Try this job again at once, if it is dead or has failed and waits. May be repeated. A job that runs "
            'is taken from its worker. "all" retries every job that is dead or has failed.',
        ),
    ] = None,
    drop: Annotated[
        Ids, typer.Option("--drop", metavar="ID", help="Remove this job from the queue. May be repeated.")
    ] = None,
    backfill: Annotated[
        bool,
        typer.Option("--backfill", help="Let the recipe process every message from which it has derived nothing yet."),
    ] = False,
    recipe: options.Recipe = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List the background jobs that wait, run or have failed, with the reason of the failure. Retry or drop jobs."""
    from recollect.domain.checks import require_member
    from recollect.domain.jobs import JobState

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, recipe=recipe)
        states = [require_member("--state", JobState, name) for name in state or ()]
        if sum(map(bool, (show, retry, drop, states, backfill))) > 1:
            raise InvalidInput("give only one of --state, --show, --retry, --drop and --backfill")
    if backfill:
        _backfill(settings, bank, as_json=json)
        return
    if retry or drop:
        _change_jobs(settings, bank, retry or [], drop or [], as_json=json)
        return
    found = with_bank(settings, bank, lambda opened: opened.jobs(*states))
    if show is not None:
        _show_job(found, show, as_json=json)
    else:
        _list(found, bank, as_json=json)


def costs(
    store: options.Store = None,
    bank: options.Bank = "default",
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Show the costs of a bank's model calls, including background jobs and failed calls."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    found = with_bank(settings, bank, lambda opened: opened.costs())
    if json:
        print_json([to_json(cost) for cost in found])
    elif found:
        print_line(_format_costs(found))
    else:
        print_note(f"no model was called for bank {bank}")


def _change_jobs(settings: Settings, bank: str, retry: list[str], drop: list[str], *, as_json: bool) -> None:
    """Retry or drop one job after the other. The first job that cannot be changed ends this."""

    async def each(opened: Bank) -> list[str]:
        change: Callable[[str], Awaitable[None]] = opened.retry_job if retry else opened.drop_job
        wanted = await _failed_jobs(opened) if ALL in retry else retry or drop
        for job in wanted:
            await change(job)
            if not as_json:
                print_line(f"{make_printable(job)} {'waits to be tried again' if retry else 'is dropped'}")
        return wanted

    changed = with_bank(settings, bank, each)
    if as_json:
        print_json({"retried" if retry else "dropped": changed})
    elif not changed:
        print_note(f"no job of bank {bank} has failed")


async def _failed_jobs(opened: Bank) -> list[str]:
    """Return the ids of the jobs that are dead, or have failed and wait."""
    return [job.id for job in await opened.jobs("dead", "waiting") if job.error is not None]


def _backfill(settings: Settings, bank: str, *, as_json: bool) -> None:
    found = with_bank(settings, bank, lambda opened: opened.backfill())
    if as_json:
        print_json({"to_read": found})
    elif found:
        print_line(f"{format_count(found, 'message')} to be read")
    else:
        print_note(f"nothing to read in bank {bank}")


def _list(found: list[JobRecord], bank: str, *, as_json: bool) -> None:
    from recollect.domain.codec import to_json

    if as_json:
        print_json([to_json(job) for job in found])
    elif found:
        print_line(_format_jobs(found))
    else:
        print_note(f"no jobs in bank {bank}")


def _show_job(found: list[JobRecord], wanted: str, *, as_json: bool) -> None:
    from recollect.domain.codec import to_json

    job = next((job for job in found if job.id == wanted), None)
    if job is None:
        raise InvalidInput(f"there is no job {wanted!r}")
    print_json(to_json(job)) if as_json else print_line(_format_job(job))


def _format_jobs(found: list[JobRecord]) -> str:
    """Return one line for each job, and under it the error of its last attempt."""
    head = ("job", "state", "attempts", "due", "messages")
    rows = [
        (flatten_line(job.id), job.state.value, str(job.attempts), _format_due(job), str(len(job.messages)))
        for job in found
    ]
    first, *lines = format_table([head, *rows], right=(2, 4)).split("\n")
    told = [first]
    for line, job in zip(lines, found, strict=True):
        told.append(line)
        if job.error:
            told.append(format_faint(f"   {truncate_text(job.error, terminal_width() - 3)}"))
    return "\n".join(told)


def _format_job(job: JobRecord) -> str:
    rows = [
        ("state", job.state.value),
        ("attempts", str(job.attempts)),
        ("due", _format_due(job)),
        ("worker", flatten_line(job.worker or "-")),
        ("failed", _format_moment(job.failed) if job.failed else "-"),
        ("messages", flatten_line(", ".join(job.messages)) or "-"),
    ]
    parts = [format_strong(flatten_line(job.id)), format_table(rows)]
    if job.error:
        parts.append(f"error\n{indent_text(job.error, '   ', fold=True)}")
    if job.reply:
        parts.append(f"the reply\n{indent_text(job.reply, '   ')}")
    return "\n".join(parts)


def _format_due(job: JobRecord) -> str:
    if job.state.value == "dead":
        return "never"
    return _format_moment(job.due) if job.due else "now"


def _format_moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def _format_costs(found: list[Cost]) -> str:
    head = ("operation", "role", "model", "calls", "failed", "tokens in", "cached", "tokens out", "seconds")
    rows = [
        (
            flatten_line(cost.operation),
            flatten_line(cost.role),
            flatten_line(cost.model),
            f"{cost.usage.calls:,}",
            f"{cost.failed:,}",
            f"{cost.usage.tokens_in:,}",
            f"{cost.usage.tokens_cached:,}",
            f"{cost.usage.tokens_out:,}",
            f"{cost.usage.seconds:.1f}",
        )
        for cost in found
    ]
    total = sum(cost.usage.tokens_in + cost.usage.tokens_out for cost in found)
    return f"{format_table([head, *rows], right=(3, 4, 5, 6, 7, 8))}\n{format_count(total, 'token')} in all"
