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
    typer.Option("--rehearsal", metavar="NAME", help="The rehearsal that a ./folder is of; hindsight where left out."),
]

app = typer.Typer(
    help="Replies of language models that were recorded: list, check, record them.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("list", short_help="List the recorded replies.")
def list_(name: NameArgument, json: options.Json = False) -> None:
    """List the recorded replies by role, with what each was asked and how long prompt and reply are."""
    with _open_recording(name) as recording:
        entries = recording.entries
    if json:
        print_json([_dump_entry(entry) for entry in entries])
    elif entries:
        print_line(format_entries(entries))
    else:
        print_note(f"no replies in recording {name}")


@app.command(short_help="See which recorded replies still fit.")
def check(name: NameArgument, rehearsal: RehearsalOption = None, json: options.Json = False) -> None:
    """Replay the recorded run and list the replies that are stale or missing.

    Exit status 1 where a reply is stale or missing, or the run broke off.
    """
    with _open_recording(name) as recording:
        report, problem = _replay(_choose_plan(name, rehearsal), recording, None)
    _print(report, name, json=json)
    if problem is not None:
        raise report_failure(f"the run broke off: {problem}") from problem
    if not report.is_fresh:
        raise typer.Exit(FAILED)


@app.command(short_help="Record what is stale or missing.")
def record(
    name: NameArgument,
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
    rehearsal: RehearsalOption = None,
    json: options.Json = False,
) -> None:
    """Do the recorded run once more, ask an endpoint for each reply that is not recorded, and keep it.

    What is kept already is not asked for again, so that a run that broke off goes on where it was. The key sent is
    $RECOLLECT_API_KEY; it is not kept.
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
    """The recording of that name, or in a folder where it is written as one; ``create`` lets it be empty."""
    from recollect_lab.recordings import Recording, open_recording_folder

    folder = nullcontext(Path(name).expanduser()) if _is_folder(name) else open_recording_folder(name)
    with ExitStack() as stack:
        with usage_errors():
            recording = Recording.open(stack.enter_context(folder), create=create)
        yield recording


def _choose_plan(name: str, rehearsal: str | None) -> RehearsalPlan:
    """The rehearsal that a recording is of: that of its name, where it has one."""
    from recollect_lab.rehearsals.plans import get_plan

    own = "hindsight" if _is_folder(name) else name
    with usage_errors():
        return get_plan(rehearsal or own)


def _is_folder(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def _replay(
    plan: RehearsalPlan, recording: Recording, upstream: Upstream | None, *, lanes: int = 1
) -> tuple[ReplayReport, RecollectError | None]:
    """Do the recorded run; gives what it found, and what broke it off."""
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
    """Entries, sorted as a recording has them, under their roles, each role with its sizes."""
    blocks = []
    for role, group in groupby(entries, key=lambda entry: entry.asked.role):
        own = list(group)
        asked, answered = sum(entry.request_bytes for entry in own), sum(entry.reply_bytes for entry in own)
        sizes = f"{format_size(asked)} asked, {format_size(answered)} told"
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
    """How many replies fit, which do not, and what to do about that."""
    parts = [
        f"{len(report.exact)} exact, {len(report.recorded)} recorded now, {len(report.stale)} stale, "
        f"{len(report.missing)} missing, {len(report.unused)} unused"
    ]
    if report.stale:
        parts.append(
            _format_requests("stale: answered with the reply to another prompt", [s.asked for s in report.stale])
        )
    if report.missing:
        parts.append(_format_requests("missing: nothing to answer with", report.missing))
    if report.unused:
        parts.append(_format_requests("unused: the run did not ask for them", [entry.asked for entry in report.unused]))
    if not report.is_fresh or report.unused:
        parts.append(_format_advice(report, name))
    return "\n\n".join(parts)


def dump_report(report: ReplayReport) -> dict[str, list[dict[str, str]]]:
    """The same as JSON: lists of what was asked; a stale one has the key of the reply that stood in."""
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
        return f"to record what is stale or missing: {command}; with --prune, what is unused goes"
    return f"to drop what is unused: {command} --prune"


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
