"""Sessions that a model reads a chunk at a time: when, what it is shown of them, and what is left to later jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeVar

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
    """How sessions are read: in chunks of at most ``chunk_tokens``, at most ``chunks`` of them a job, each after at
    most ``context_messages`` of at most ``context_tokens`` together that were read before."""

    @property
    def chunk_tokens(self) -> int: ...

    @property
    def chunks(self) -> int: ...

    @property
    def context_messages(self) -> int: ...

    @property
    def context_tokens(self) -> int: ...


def make_session_jobs(kind: str, messages: Iterable[StoredMessage], due: datetime) -> tuple[Job, ...]:
    """A job for each session that has new messages."""
    sessions: dict[str, list[str]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message.id)
    return tuple(_make_session_job(kind, session, ids, due) for session, ids in sessions.items())


def quote_briefly(text: str) -> str:
    """What a complaint about a reply calls the part that it is about: its first 60 characters, in quotes."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


async def gather_results(calls: Iterable[Awaitable[T]]) -> list[T | Exception]:
    """What each of the calls gave or raised, made at once; returns when the last has ended, so that none goes on
    unseen."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException) and not isinstance(one, Exception):
            raise one
    return [one for one in ended if isinstance(one, Exception) or not isinstance(one, BaseException)]


def split_results(chunks: Sequence[Chunk], ended: Sequence[T | Exception]) -> tuple[list[tuple[Chunk, T]], list[Chunk]]:
    """The chunks with what was read of them, and those that could not be read.

    Raises:
        Exception: none could. Where one failed for want of a model, that is told: it says nothing of the chunks.
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
    """New messages of one session, in order, as a job reads them, and the ids of those that it leaves to the next."""
    if not messages:
        return [], []
    line = [*await _load_preceding(messages[0], reader, settings.context_messages), *messages]
    costs = await asyncio.to_thread(count_all, [_render_message(message, 1, agent=False) for message in line])
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
    """The parts of a prompt that hold a chunk's messages, numbered from 1; those that were read before stand apart."""
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
    """Derive what was read, together with the jobs for what was not.

    A chunk that could not be read is left to a job of its own, where it fails, waits and dies without the others; the
    ``rest``, too much for one job, to the next. What is ``None``, since something that was shown has been forgotten
    meanwhile, is read again as a whole.
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
    """Whether the bank still holds every message that was shown with these chunks."""
    shown = {message.id for chunk in chunks for message in chunk.all_messages}
    return len(await reader.messages(shown)) == len(shown)


async def find_outdated(
    chunks: Sequence[Chunk],
    new: Collection[str],
    leftovers: Collection[str],
    kinds: Sequence[ItemKind],
    reader: StoreReader,
) -> list[str]:
    """The ids of what an earlier reading of these messages has left, and this one, which gave ``new`` ones, has not.

    Args:
        leftovers: ids that an earlier reading of the same chunks may have given.
        kinds: what is read from messages; they may have been cut into other chunks then, and what is left when others
            were forgotten is read again by itself. What came mostly from a message that was not read now, or from one
            of the session that was not even shown, stays; of another session it has a name at most.
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
    """The last messages of the session before one, in order: at most ``count``, of the day before it."""
    said = await reader.messages_before(first.session, first.position, count)
    return [one for one in said if first.at - _CONTEXT_SPAN <= one.at <= first.at]


def _find_context_start(start: int, costs: Sequence[int], settings: ReadingSettings) -> int:
    """Where the messages that lead up to a place begin, within the bounds of the context."""
    room = settings.context_tokens
    first = start
    while first > max(0, start - settings.context_messages) and costs[first - 1] <= room:
        first -= 1
        room -= costs[first]
    return first


def _render_message(message: StoredMessage, number: int, *, agent: bool) -> str:
    """A message as the prompt shows it; its own lines are indented, so that none can pass for another message."""
    voice = "agent" if agent else "system" if message.role is Role.SYSTEM else "person"
    said = f"{join_lines(message.speaker)}, {format_moment(message.at)}: {indent_lines(render_message(message))}"
    return f"[{number}] ({voice}) {said}"


def _make_session_job(kind: str, session: str, messages: Sequence[str], due: datetime) -> Job:
    return Job(id=f"{kind}:{session}", kind=kind, payload=session, messages=tuple(messages), due=due)


def _make_chunk_job(chunk: Chunk, kind: str, due: datetime) -> Job:
    """The job of a chunk alone. The place stands before the session, which may be called anything."""
    job = _make_session_job(kind, chunk.session, [message.id for message in chunk.messages], due)
    return replace(job, id=f"{kind}#{chunk.messages[0].position}:{chunk.session}")
