"""Let a model read sessions in chunks: select the messages, show them in prompts, and queue jobs for the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeVar

from recollect._threads import run_in_thread
from recollect.answering.evidence import format_moment, indent_lines, join_lines
from recollect.domain.changes import Changeset
from recollect.domain.facts import is_given
from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job
from recollect.domain.messages import Role, StoredMessage
from recollect.errors import InvalidReply
from recollect.ports import Derive
from recollect.retain.chunks import Chunk, cut_by_budget
from recollect.retain.turns import render_message
from recollect.store.profile_setting import read_profile
from recollect.store.protocol import StoreReader
from recollect.text.fencing import fence_text
from recollect.text.tokens import count_all

T = TypeVar("T")

_CONTEXT_SPAN: Final = timedelta(days=1)


class ReadingSettings(Protocol):
    """The settings for reading sessions.

    A chunk has at most ``chunk_tokens`` tokens, and a job reads at most ``chunks`` chunks. Before each chunk, the
    prompt repeats at most ``context_messages`` earlier messages with at most ``context_tokens`` tokens together.
    """

    @property
    def chunk_tokens(self) -> int: ...

    @property
    def chunks(self) -> int: ...

    @property
    def context_messages(self) -> int: ...

    @property
    def context_tokens(self) -> int: ...


def make_session_jobs(kind: str, messages: Iterable[StoredMessage], due: datetime) -> tuple[Job, ...]:
    """Return a job for each session that has new messages."""
    sessions: dict[str, list[str]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message.id)
    return tuple(_make_session_job(kind, session, ids, due) for session, ids in sessions.items())


def quote_briefly(text: str) -> str:
    """Return the first 60 characters of a text, in quotes, for a message about an error in a reply."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


async def gather_results(calls: Iterable[Awaitable[T]]) -> list[T | Exception]:
    """Run all calls at the same time, and return the result or the error of each.

    It returns only after the last call has ended, so that no call goes on unnoticed.
    """
    ended = await asyncio.gather(*calls, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException) and not isinstance(one, Exception):
            raise one
    return [one for one in ended if isinstance(one, Exception) or not isinstance(one, BaseException)]


def split_results(chunks: Sequence[Chunk], ended: Sequence[T | Exception]) -> tuple[list[tuple[Chunk, T]], list[Chunk]]:
    """Return the chunks with their results, and the chunks that could not be read.

    Raises:
        Exception: no chunk could be read. An error other than an invalid reply is raised first, because it says nothing
            about a chunk.
    """
    both = list(zip(chunks, ended, strict=True))
    errors = [one for one in ended if isinstance(one, Exception)]
    if errors and len(errors) == len(both):
        raise next((one for one in errors if not isinstance(one, InvalidReply)), errors[0])
    read = [(chunk, one) for chunk, one in both if not isinstance(one, Exception)]
    return read, [chunk for chunk, one in both if isinstance(one, Exception)]


async def plan_chunks(
    messages: Sequence[StoredMessage], reader: StoreReader, settings: ReadingSettings
) -> tuple[list[Chunk], list[str]]:
    """Return the chunks that a job reads, and the ids of the messages that it leaves to the next job.

    ``messages`` are new messages of one session, in order.
    """
    if not messages:
        return [], []
    line = [*await _load_preceding(messages[0], reader, settings.context_messages), *messages]
    costs = await run_in_thread(count_all, [_render_message(message, 1, agent=False) for message in line])
    new = len(line) - len(messages)
    cuts = cut_by_budget(costs[new:], settings.chunk_tokens)
    agent = (await read_profile(reader)).name
    chunks = [
        Chunk(
            context=tuple(line[_find_context_start(new + one.start, costs, settings) : new + one.start]),
            messages=tuple(messages[at] for at in one),
            tokens=sum(costs[new + at] for at in one),
            agent=agent,
            names_agent=agent != reader.name,
        )
        for one in cuts[: settings.chunks]
    ]
    return chunks, [messages[at].id for one in cuts[settings.chunks :] for at in one]


def render_chunk(chunk: Chunk) -> list[str]:
    """Return the parts of a prompt with a chunk's messages, numbered from 1. The context has its own part."""
    lines = [
        _render_message(message, number, agent=chunk.is_by_agent(message))
        for number, message in enumerate(chunk.all_messages, start=1)
    ]
    first = len(chunk.context)
    context = [fence_text("context", "\n".join(lines[:first]))] if first else []
    return [*context, fence_text("messages", "\n".join(lines[first:]))]


def requeue_failed(
    derived: Callable[[StoreReader], Awaitable[Changeset | None]],
    job: Job,
    rest: Sequence[str],
    failed: Sequence[Chunk],
    now: datetime,
) -> Derive:
    """Return a function that derives the changes, together with jobs for everything that was not read.

    Each failed chunk gets its own job. So its failures do not delay the other chunks. ``rest`` are the messages that
    were too many for one job. They get the next job. If ``derived`` returns ``None``, a message that was shown has been
    forgotten meanwhile. Then all remaining messages of the job are read again.
    """

    async def derive(reader: StoreReader) -> Changeset:
        changes = await derived(reader)
        left = dict.fromkeys(message.id for message in await reader.messages(job.messages))
        if changes is None:
            return Changeset(jobs=(_make_session_job(job.kind, job.payload, tuple(left), now),) if left else ())
        jobs = [
            _make_session_job(job.kind, job.payload, rest, now),
            *(_make_chunk_job(chunk, job.kind, now) for chunk in failed),
        ]
        kept = (replace(one, messages=tuple(id_ for id_ in one.messages if id_ in left)) for one in jobs)
        return replace(changes, jobs=tuple(one for one in kept if one.messages))

    return derive


async def has_all_messages(chunks: Iterable[Chunk], reader: StoreReader) -> bool:
    """Return true if the bank still has every message that was shown with these chunks."""
    shown = {message.id for chunk in chunks for message in chunk.all_messages}
    return len(await reader.messages(shown)) == len(shown)


async def find_outdated(
    chunks: Sequence[Chunk],
    new: Collection[str],
    leftovers: Collection[str],
    kinds: Sequence[ItemKind],
    reader: StoreReader,
) -> list[str]:
    """Return the ids of items from an earlier reading of these messages that this reading has not produced again.

    Args:
        chunks: the chunks that were read.
        new: ids of the items of this reading.
        leftovers: ids that an earlier reading of the same chunks may have produced.
        kinds: the kinds of items that are read from messages. An earlier reading may have cut the messages into other
            chunks. After messages were forgotten, the remaining ones are read separately. An item stays if its main
            source was not read now, or if a source in the same session was not shown. Sources in other sessions do not
            count, because at most a name comes from them.
        reader: the bank.
    """
    known = {*new, *leftovers}
    read = {message.id for chunk in chunks for message in chunk.messages}
    shown = {message.id for chunk in chunks for message in chunk.all_messages}
    before = [item.id for item in await reader.items(leftovers) if item.superseded is None]
    found = [
        item
        for item in await reader.items_from(read, kinds)
        if item.id not in known and item.sources[0] in read and not is_given(item.id)
    ]
    unseen = {source for item in found for source in item.sources} - shown
    sessions = {chunk.session for chunk in chunks}
    missed = {message.id for message in await reader.messages(unseen) if message.session in sessions}
    return [*before, *(item.id for item in found if missed.isdisjoint(item.sources))]


async def _load_preceding(first: StoredMessage, reader: StoreReader, count: int) -> list[StoredMessage]:
    """Return at most ``count`` messages before a message of the session, in order. They are at most one day older."""
    said = await reader.messages_before(first.session, first.position, count)
    return [one for one in said if first.at - _CONTEXT_SPAN <= one.at <= first.at]


def _find_context_start(start: int, costs: Sequence[int], settings: ReadingSettings) -> int:
    """Return the position where the context of a chunk begins, within the limits of the settings."""
    room = settings.context_tokens
    first = start
    while first > max(0, start - settings.context_messages) and costs[first - 1] <= room:
        first -= 1
        room -= costs[first]
    return first


def _render_message(message: StoredMessage, number: int, *, agent: bool) -> str:
    """Return a message as the prompt shows it. Its lines are indented, so that no line looks like another message."""
    voice = "agent" if agent else "system" if message.role is Role.SYSTEM else "person"
    said = f"{join_lines(message.speaker)}, {format_moment(message.at)}: {indent_lines(render_message(message))}"
    return f"[{number}] ({voice}) {said}"


def _make_session_job(kind: str, session: str, messages: Sequence[str], due: datetime) -> Job:
    return Job(id=f"{kind}:{session}", kind=kind, payload=session, messages=tuple(messages), due=due)


def _make_chunk_job(chunk: Chunk, kind: str, due: datetime) -> Job:
    """Return the job of one chunk. Its id has the position before the session, because a session may have any name."""
    job = _make_session_job(kind, chunk.session, [message.id for message in chunk.messages], due)
    return replace(job, id=f"{kind}#{chunk.messages[0].position}:{chunk.session}")
