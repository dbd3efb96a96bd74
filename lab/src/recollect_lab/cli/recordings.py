"""The command group ``recollect recordings``: it lists, checks and records replies of models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import (
    format_size,
    format_strong,
    format_table,
    make_printable,
    print_json,
    print_line,
    print_note,
    truncate_text,
)
from recollect.cli.runtime import FAILED, report_failure, run, usage_errors
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect_lab.recordings import RecordedReply, Recording, ReplayReport, RequestKey, Upstream
    from recollect_lab.rehearsals.plans import RehearsalPlan

_SUBJECT = 40

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A recording that comes with recollect, or a ./folder.")
]

RehearsalOption = Annotated[
    str | None,
    typer.Option(
        "--rehearsal", metavar="NAME", help="The rehearsal that a ./folder is a recording of. Default: hindsight."
    ),
]

app = typer.Typer(
    help="List, check and record replies of language models.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("list", short_help="List the recorded replies.")
def list_(name: NameArgument, json: options.Json = False) -> None:
    """List the recorded replies by role, with the operation and the subject of each, and the sizes of prompt and
    reply.
    """
    with _open_recording(name) as recording:
        entries = recording.entries
    if json:
        print_json([_dump_entry(entry) for entry in entries])
    elif entries:
        print_line(format_entries(entries))
    else:
        print_note(f"no replies in recording {name}")


@app.command(short_help="Check which recorded replies still match.")
def check(name: NameArgument, rehearsal: RehearsalOption = None, json: options.Json = False) -> None:
    """Replay the recorded run, and list the replies that are stale or missing.

    The exit status is 1 if a reply is stale or missing, or if the run broke off.
    """
    with _open_recording(name) as recording:
        report, problem = _replay(_choose_plan(name, rehearsal), recording, None)
    _print(report, name, json=json)
    if problem is not None:
        raise report_failure(f"the run broke off: {problem}") from problem
    if not report.is_fresh:
        raise typer.Exit(FAILED)


@app.command(short_help="Record the stale or missing replies.")
def record(
    name: NameArgument,
    upstream: Annotated[
        str,
        typer.Option(
            "--upstream",
            metavar="URL",
            help="The URL of the OpenAI-compatible endpoint to ask, such as http://localhost:8000/v1.",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The model to request there. Default: the model that each request names.",
        ),
    ] = None,
    lanes: Annotated[
        int, typer.Option("--lanes", metavar="N", min=1, help="Ask for N replies at a time in the background.")
    ] = 1,
    prune: Annotated[bool, typer.Option("--prune", help="Drop the replies that the run did not use.")] = False,
    rehearsal: RehearsalOption = None,
    json: options.Json = False,
) -> None:
    """Repeat the recorded run, ask an endpoint for each reply that is not recorded, and record it.

    Recorded replies are not asked for again, so that a run that broke off continues where it was. The key that is sent
    is $RECOLLECT_API_KEY. The key is not recorded.
    """
    from recollect.app import load_settings
    from recollect_lab.recordings import Upstream

    with usage_errors():
        sender = Upstream(base_url=upstream, api_key=load_settings(os.environ).api_key, model=model)
    with _open_recording(name, create=True) as recording:
        report, problem = _replay(_choose_plan(name, rehearsal), recording, sender, lanes=lanes)
        dropped = recording.prune(report.used_keys) if prune and problem is None and report.is_fresh else ()
    _print(report, name, json=json)
    if dropped:
        print_note(f"dropped {_format_replies(len(dropped))} that the run did not use")
    if problem is not None:
        raise report_failure(f"the run broke off: {problem}") from problem
    if not report.is_fresh:
        raise typer.Exit(FAILED)


@contextmanager
def _open_recording(name: str, *, create: bool = False) -> Iterator[Recording]:
    """Open the recording with this name, or in this folder if the name is written as a folder.

    ``create`` allows a recording that is empty or does not exist yet.
    """
    from recollect_lab.recordings import Recording, open_recording_folder

    folder = nullcontext(Path(name).expanduser()) if _is_folder(name) else open_recording_folder(name)
    with ExitStack() as stack:
        with usage_errors():
            recording = Recording.open(stack.enter_context(folder), create=create)
        yield recording


def _choose_plan(name: str, rehearsal: str | None) -> RehearsalPlan:
    """Return the plan of the rehearsal that was recorded. Without ``rehearsal`` it is the one with the recording's
    name.
    """
    from recollect_lab.rehearsals.plans import get_plan

    own = "hindsight" if _is_folder(name) else name
    with usage_errors():
        return get_plan(rehearsal or own)


def _is_folder(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def _replay(
    plan: RehearsalPlan, recording: Recording, upstream: Upstream | None, *, lanes: int = 1
) -> tuple[ReplayReport, RecollectError | None]:
    """Repeat the recorded run. Return its report, and the error that broke it off, if any."""
    from recollect_lab.recordings import ReplayServer
    from recollect_lab.rehearsals.rehearsal import rehearse

    with ReplayServer(recording, upstream) as server:
        try:
            run(rehearse(plan, server.base_url, print_note, lanes=lanes))
        except RecollectError as exc:
            return server.report, exc
        return server.report, None


def _print(report: ReplayReport, name: str, *, json: bool) -> None:
    if json:
        print_json(dump_report(report))
    else:
        print_line(format_report(report, name))


def format_entries(entries: Sequence[RecordedReply]) -> str:
    """Return the entries under their roles, each role with its sizes. The entries are sorted as in a recording."""
    blocks = []
    for role, group in groupby(entries, key=lambda entry: entry.asked.role):
        own = list(group)
        asked, answered = sum(entry.request_bytes for entry in own), sum(entry.reply_bytes for entry in own)
        sizes = f"{format_size(asked)} of prompts, {format_size(answered)} of replies"
        head = f"{format_strong(make_printable(role or 'no role'))}  {_format_replies(len(own))}, {sizes}"
        rows = [
            (
                "",
                make_printable(entry.asked.operation),
                truncate_text(entry.asked.subject, _SUBJECT),
                format_size(entry.request_bytes),
                format_size(entry.reply_bytes),
                entry.asked.key,
            )
            for entry in own
        ]
        blocks.append(f"{head}\n{format_table(rows, right=(3, 4))}")
    return "\n\n".join(blocks)


def format_report(report: ReplayReport, name: str) -> str:
    """Return how many replies match, which do not match, and what the user can do about it."""
    parts = [
        f"{len(report.exact)} exact, {len(report.recorded)} recorded now, {len(report.stale)} stale, "
        f"{len(report.missing)} missing, {len(report.unused)} unused"
    ]
    if report.stale:
        parts.append(
            _format_requests("stale: the reply was recorded for another prompt", [s.asked for s in report.stale])
        )
    if report.missing:
        parts.append(_format_requests("missing: no reply is recorded", report.missing))
    if report.unused:
        parts.append(_format_requests("unused: the run did not ask for them", [entry.asked for entry in report.unused]))
    if not report.is_fresh or report.unused:
        parts.append(_format_advice(report, name))
    return "\n\n".join(parts)


def dump_report(report: ReplayReport) -> dict[str, list[dict[str, str]]]:
    """Return the report as JSON: lists of prompts. A stale entry has the key of the reply that was used for it."""
    return {
        "exact": [_dump_request(entry.asked) for entry in report.exact],
        "recorded": [_dump_request(entry.asked) for entry in report.recorded],
        "stale": [{**_dump_request(stale.asked), "answered_with": stale.entry.asked.key} for stale in report.stale],
        "missing": [_dump_request(asked) for asked in report.missing],
        "unused": [_dump_request(entry.asked) for entry in report.unused],
    }


def _format_requests(title: str, asked: Sequence[RequestKey]) -> str:
    rows = [
        ("", make_printable(each.role), make_printable(each.operation), truncate_text(each.subject, _SUBJECT), each.key)
        for each in asked
    ]
    return f"{format_strong(title)}\n{format_table(rows)}"


def _format_advice(report: ReplayReport, name: str) -> str:
    command = f"recollect recordings record {make_printable(name)} --upstream URL"
    if not report.is_fresh:
        return f"to record the stale or missing replies: {command}. With --prune, the unused replies are dropped"
    return f"to drop the unused replies: {command} --prune"


def _dump_entry(entry: RecordedReply) -> dict[str, object]:
    return {
        **_dump_request(entry.asked),
        "model": entry.model,
        "request_bytes": entry.request_bytes,
        "reply_bytes": entry.reply_bytes,
        "usage": entry.usage,
    }


def _dump_request(asked: RequestKey) -> dict[str, str]:
    return {"key": asked.key, "role": asked.role, "operation": asked.operation, "subject": asked.subject}


def _format_replies(number: int) -> str:
    return f"{number:,} {'reply' if number == 1 else 'replies'}"
