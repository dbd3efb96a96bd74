"""``recollect recordings``: which model replies are recorded, whether they still fit, and recording them anew."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import cut, printable, remark, say, say_json, size, strong, table
from recollect.cli.running import FAILED, failure, run, usage
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect_lab.recordings import Asked, Entry, Recording, ReplayReport, Upstream
    from recollect_lab.rehearsals.plans import Plan

_SUBJECT = 40

Name = Annotated[str, typer.Argument(metavar="NAME", help="A recording that comes with recollect, or a ./folder.")]

Rehearsal = Annotated[
    str | None,
    typer.Option("--rehearsal", metavar="NAME", help="The rehearsal that a ./folder is of; hindsight where left out."),
]

app = typer.Typer(
    help="Replies of language models that were recorded: list, check, record them.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("list", short_help="List the recorded replies.")
def list_(name: Name, json: options.Json = False) -> None:
    """List the recorded replies by role, with what each was asked and how long prompt and reply are."""
    with _opened(name) as recording:
        entries = recording.entries
    if json:
        say_json([_entry_json(entry) for entry in entries])
    elif entries:
        say(entries_block(entries))
    else:
        remark(f"no replies in recording {name}")


@app.command(short_help="See which recorded replies still fit.")
def check(name: Name, rehearsal: Rehearsal = None, json: options.Json = False) -> None:
    """Replay the recorded run and list the replies that are stale or missing.

    Exit status 1 where a reply is stale or missing, or the run broke off.
    """
    with _opened(name) as recording:
        report, problem = _replayed(_plan(name, rehearsal), recording, None)
    _print(report, name, json=json)
    if problem is not None:
        raise failure(f"the run broke off: {problem}") from problem
    if not report.fresh:
        raise typer.Exit(FAILED)


@app.command(short_help="Record what is stale or missing.")
def record(
    name: Name,
    upstream: Annotated[
        str, typer.Option("--upstream", metavar="URL", help="The OpenAI-compatible endpoint to ask, up to its /v1.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Ask for this model, whatever the run asks for.")
    ] = None,
    lanes: Annotated[
        int, typer.Option("--lanes", metavar="N", min=1, help="Ask for so many replies at a time in the background.")
    ] = 1,
    prune: Annotated[bool, typer.Option("--prune", help="Drop the replies that the run did not use.")] = False,
    rehearsal: Rehearsal = None,
    json: options.Json = False,
) -> None:
    """Do the recorded run once more, ask an endpoint for each reply that is not recorded, and keep it.

    What is kept already is not asked for again, so that a run that broke off goes on where it was. The key sent is
    $RECOLLECT_API_KEY; it is not kept.
    """
    from recollect.app import settings_from
    from recollect_lab.recordings import Upstream

    with usage():
        sender = Upstream(base_url=upstream, api_key=settings_from(os.environ).api_key, model=model)
    with _opened(name, create=True) as recording:
        report, problem = _replayed(_plan(name, rehearsal), recording, sender, lanes=lanes)
        dropped = recording.prune(report.used) if prune and problem is None and report.fresh else ()
    _print(report, name, json=json)
    if dropped:
        remark(f"dropped {_replies(len(dropped))} that the run did not use")
    if problem is not None:
        raise failure(f"the run broke off: {problem}") from problem
    if not report.fresh:
        raise typer.Exit(FAILED)


@contextmanager
def _opened(name: str, *, create: bool = False) -> Iterator[Recording]:
    """The recording of that name, or in a folder where it is written as one; ``create`` lets it be empty."""
    from recollect_lab.recordings import Recording, recording_path

    folder = nullcontext(Path(name).expanduser()) if _in_folder(name) else recording_path(name)
    with ExitStack() as stack:
        with usage():
            recording = Recording.open(stack.enter_context(folder), create=create)
        yield recording


def _plan(name: str, rehearsal: str | None) -> Plan:
    """The rehearsal that a recording is of: that of its name, where it has one."""
    from recollect_lab.rehearsals.plans import plan_named

    own = "hindsight" if _in_folder(name) else name
    with usage():
        return plan_named(rehearsal or own)


def _in_folder(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def _replayed(
    plan: Plan, recording: Recording, upstream: Upstream | None, *, lanes: int = 1
) -> tuple[ReplayReport, RecollectError | None]:
    """Do the recorded run; gives what it found, and what broke it off."""
    from recollect_lab.recordings import ReplayServer
    from recollect_lab.rehearsals.rehearsal import rehearse

    with ReplayServer(recording, upstream) as server:
        try:
            run(rehearse(plan, server.base_url, remark, lanes=lanes))
        except RecollectError as exc:
            return server.report, exc
        return server.report, None


def _print(report: ReplayReport, name: str, *, json: bool) -> None:
    if json:
        say_json(report_json(report))
    else:
        say(report_block(report, name))


def entries_block(entries: Sequence[Entry]) -> str:
    """Entries, sorted as a recording has them, under their roles, each role with its sizes."""
    blocks = []
    for role, group in groupby(entries, key=lambda entry: entry.asked.role):
        own = list(group)
        asked, answered = sum(entry.request_bytes for entry in own), sum(entry.reply_bytes for entry in own)
        head = (
            f"{strong(printable(role or 'no role'))}  {_replies(len(own))}, {size(asked)} asked, {size(answered)} told"
        )
        rows = [
            (
                "",
                printable(entry.asked.operation),
                cut(entry.asked.subject, _SUBJECT),
                size(entry.request_bytes),
                size(entry.reply_bytes),
                entry.asked.key,
            )
            for entry in own
        ]
        blocks.append(f"{head}\n{table(rows, right=(3, 4))}")
    return "\n\n".join(blocks)


def report_block(report: ReplayReport, name: str) -> str:
    """How many replies fit, which do not, and what to do about that."""
    parts = [
        f"{len(report.exact)} exact, {len(report.recorded)} recorded now, {len(report.stale)} stale, "
        f"{len(report.missing)} missing, {len(report.unused)} unused"
    ]
    if report.stale:
        parts.append(_asked_block("stale: answered with the reply to another prompt", [s.asked for s in report.stale]))
    if report.missing:
        parts.append(_asked_block("missing: nothing to answer with", report.missing))
    if report.unused:
        parts.append(_asked_block("unused: the run did not ask for them", [entry.asked for entry in report.unused]))
    if not report.fresh or report.unused:
        parts.append(_advice(report, name))
    return "\n\n".join(parts)


def report_json(report: ReplayReport) -> dict[str, list[dict[str, str]]]:
    """The same as JSON: lists of what was asked; a stale one has the key of the reply that stood in."""
    return {
        "exact": [_asked_json(entry.asked) for entry in report.exact],
        "recorded": [_asked_json(entry.asked) for entry in report.recorded],
        "stale": [{**_asked_json(stale.asked), "answered_with": stale.entry.asked.key} for stale in report.stale],
        "missing": [_asked_json(asked) for asked in report.missing],
        "unused": [_asked_json(entry.asked) for entry in report.unused],
    }


def _asked_block(title: str, asked: Sequence[Asked]) -> str:
    rows = [
        ("", printable(each.role), printable(each.operation), cut(each.subject, _SUBJECT), each.key) for each in asked
    ]
    return f"{strong(title)}\n{table(rows)}"


def _advice(report: ReplayReport, name: str) -> str:
    command = f"recollect recordings record {printable(name)} --upstream URL"
    if not report.fresh:
        return f"to record what is stale or missing: {command}; with --prune, what is unused goes"
    return f"to drop what is unused: {command} --prune"


def _entry_json(entry: Entry) -> dict[str, object]:
    return {
        **_asked_json(entry.asked),
        "model": entry.model,
        "request_bytes": entry.request_bytes,
        "reply_bytes": entry.reply_bytes,
        "usage": entry.usage,
    }


def _asked_json(asked: Asked) -> dict[str, str]:
    return {"key": asked.key, "role": asked.role, "operation": asked.operation, "subject": asked.subject}


def _replies(number: int) -> str:
    return f"{number:,} {'reply' if number == 1 else 'replies'}"
