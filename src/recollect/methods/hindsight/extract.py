"""Reading a conversation for facts (Hindsight, section 4.1.2, appendix A.1): when it is read, and what is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from recollect.agent.evidence import indented, one_line, weekday_and_time
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job
from recollect.domain.messages import Role as Voice
from recollect.domain.messages import StoredMessage
from recollect.errors import InvalidReply
from recollect.methods.hindsight.facts import Chunk, causal_links, check_facts, cut, drafts_of, leftovers, new_drafts
from recollect.methods.hindsight.replies import ExtractedFacts
from recollect.methods.hindsight.settings import ExtractSettings
from recollect.methods.parts import Parts
from recollect.models.language import Prompt, Role
from recollect.ports import Derive
from recollect.retain.turns import spoken
from recollect.retain.weave import Draft, weave
from recollect.store.profiles import read_profile
from recollect.store.protocol import StoreReader
from recollect.text.fence import DATA_RULE, fenced
from recollect.text.tokens import count_all

KIND: Final = "hindsight.extract"

T = TypeVar("T")

_LATELY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Extraction:
    """Extraction with its constants."""

    settings: ExtractSettings = ExtractSettings()

    def build(self, parts: Parts) -> Extractor:
        return Extractor(parts, self.settings)


class Extractor:
    """Reads the new messages of a session for facts. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Parts, settings: ExtractSettings) -> None:
        self._parts, self._settings = parts, settings

    @property
    def kind(self) -> str:
        return KIND

    def causes(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """A job for each session with new messages, due when it has been still for a while."""
        sessions: dict[str, list[str]] = {}
        for message in changes.messages:
            sessions.setdefault(message.session, []).append(message.id)
        due = now + timedelta(seconds=self._settings.settle_s)
        return tuple(_job(session, ids, due) for session, ids in sessions.items())

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Read the job's messages, a call a chunk; what is derived stores the facts of all chunks that could be read.

        A chunk that could not is left to a job of its own, where it fails, waits and dies without the others; what is
        too much for one job is left to the next. Both are queued together with the facts.

        Raises:
            ModelError: no chunk could be read.
        """
        chunks, rest = await self._chunks(job, reader)
        read, failed = parted(chunks, await every(self._read(chunk) for chunk in chunks))

        async def derive() -> Changeset:
            changes = await self._derive(read, reader, now)
            left = dict.fromkeys(message.id for message in await reader.messages(job.messages))
            if changes is None:  # something that was read has been forgotten since: nothing of it may be kept
                return Changeset(jobs=(_job(job.payload, tuple(left), now),) if left else ())
            jobs = [_job(job.payload, rest, now), *(_job_of(chunk, now) for chunk in failed)]
            kept = (replace(one, messages=tuple(id_ for id_ in one.messages if id_ in left)) for one in jobs)
            return replace(changes, jobs=tuple(one for one in kept if one.messages))

        return derive

    async def _chunks(self, job: Job, reader: StoreReader) -> tuple[list[Chunk], list[str]]:
        """What this job reads, and the ids of the messages that it leaves to the next."""
        found = [message for message in await reader.messages(job.messages) if message.session == job.payload]
        messages = sorted(found, key=lambda message: message.position)
        if not messages:
            return [], []
        line = [*await _before(messages[0], reader, self._settings.context_messages), *messages]
        costs = await asyncio.to_thread(count_all, [shown_message(message, 1, agent=False) for message in line])
        new = len(line) - len(messages)
        cuts = cut(costs[new:], self._settings.chunk_tokens)
        agent = (await read_profile(reader)).name
        chunks = [
            Chunk(
                context=tuple(line[self._context_from(new + one.start, costs) : new + one.start]),
                messages=tuple(messages[at] for at in one),
                tokens=sum(costs[new + at] for at in one),
                agent=agent,
                named=agent != reader.name,
            )
            for one in cuts[: self._settings.chunks]
        ]
        return chunks, [messages[at].id for one in cuts[self._settings.chunks :] for at in one]

    def _context_from(self, start: int, costs: Sequence[int]) -> int:
        """Where the messages that lead up to a place begin, within the bounds of the context."""
        room = self._settings.context_tokens
        first = start
        while first > max(0, start - self._settings.context_messages) and costs[first - 1] <= room:
            first -= 1
            room -= costs[first]
        return first

    async def _read(self, chunk: Chunk) -> ExtractedFacts:
        prompt = extraction_prompt(chunk, usual(chunk.tokens, self._settings))
        reply = await self._parts.model.generate(prompt, ExtractedFacts, check=lambda reply: check_facts(reply, chunk))
        return reply.value

    async def _derive(
        self, read: Sequence[tuple[Chunk, ExtractedFacts]], reader: StoreReader, now: datetime
    ) -> Changeset | None:
        """The facts woven in; ``None`` when a message that was shown is gone."""
        # Read first: whatever changes after this makes the commit fail, and all is derived anew.
        seen = (await reader.known([], [])).version
        settings = self._settings
        parts = [
            (chunk, reply, drafts_of(reply, chunk, confidence=settings.confidence, now=now)) for chunk, reply in read
        ]
        drafts = [draft for _, _, made in parts for draft in made]
        changes = await weave(
            new_drafts(drafts, await reader.items({draft.item.id for draft in drafts})),
            embedder=self._parts.embedder,
            reader=reader,
            names=self._parts.names,
            links=settings.links,
            resolve=settings.resolve,
        )
        shown = {message.id for chunk, _ in read for message in chunk.shown}
        if len(await reader.messages(shown)) < len(shown):
            return None
        old = await _replaced([(chunk, made) for chunk, _, made in parts], reader)
        causal = [link for _, reply, made in parts for link in causal_links(reply, made)]
        return replace(
            changes,
            seen=seen,
            links=(*changes.links, *causal),
            supersedes=tuple(Supersession(item=id_, at=now) for id_ in old),
        )


async def every(calls: Iterable[Awaitable[T]]) -> list[T | Exception]:
    """What each of the calls gave or raised, made at once; returns when the last has ended, so that none goes on
    unseen."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException) and not isinstance(one, Exception):
            raise one
    return [one for one in ended if isinstance(one, Exception) or not isinstance(one, BaseException)]


def parted(
    chunks: Sequence[Chunk], ended: Sequence[ExtractedFacts | Exception]
) -> tuple[list[tuple[Chunk, ExtractedFacts]], list[Chunk]]:
    """The chunks with their replies, and those that failed.

    Raises:
        Exception: all of them failed. Where one did for want of a model, that is told: it says nothing of the chunks.
    """
    both = list(zip(chunks, ended, strict=True))
    errors = [one for one in ended if isinstance(one, Exception)]
    if errors and len(errors) == len(both):
        raise next((one for one in errors if not isinstance(one, InvalidReply)), errors[0])
    read = [(chunk, one) for chunk, one in both if not isinstance(one, Exception)]
    return read, [chunk for chunk, one in both if isinstance(one, Exception)]


async def _before(first: StoredMessage, reader: StoreReader, count: int) -> list[StoredMessage]:
    """The last messages of the session before one, in order: at most ``count``, of the day before it."""
    said = await reader.messages_before(first.session, first.position, count)
    return [one for one in said if first.at - _LATELY <= one.at <= first.at]


async def _replaced(made: Sequence[tuple[Chunk, Sequence[Draft]]], reader: StoreReader) -> list[str]:
    """The ids of the facts that an earlier reading of these messages has left, and this one has none of.

    They may have been cut into other chunks then: what is left when others were forgotten is read again by itself. A
    fact that came mostly from a message that was not read now, or from one that was not even shown, stays.
    """
    same_chunk = [id_ for chunk, drafts in made for id_ in leftovers(chunk, drafts)]
    known = {*same_chunk, *(draft.item.id for _, drafts in made for draft in drafts)}
    read = {message.id for chunk, _ in made for message in chunk.messages}
    shown = {message.id for chunk, _ in made for message in chunk.shown}
    before = [item.id for item in await reader.items(same_chunk) if item.superseded is None]
    for item in await reader.items_from(read, [ItemKind.FACT]):
        if item.id not in known and item.sources[0] in read and shown.issuperset(item.sources):
            before.append(item.id)
    return before


def _job(session: str, messages: Sequence[str], due: datetime) -> Job:
    return Job(id=f"{KIND}:{session}", kind=KIND, payload=session, messages=tuple(messages), due=due)


def _job_of(chunk: Chunk, due: datetime) -> Job:
    """The job of a chunk alone. The place stands before the session, which may be called anything."""
    job = _job(chunk.session, [message.id for message in chunk.messages], due)
    return replace(job, id=f"{KIND}#{chunk.messages[0].position}:{chunk.session}")


def usual(tokens: int, settings: ExtractSettings) -> tuple[int, int]:
    """How many facts so much talk usually holds, at least and at most: 2 to 5 an exchange (section 4.1.2)."""
    exchanges = max(1, round(tokens / settings.exchange_tokens))
    return 2 * exchanges, 5 * exchanges


def shown_message(message: StoredMessage, number: int, *, agent: bool) -> str:
    """A message as the prompt shows it; its own lines are indented, so that none can pass for another message."""
    voice = "agent" if agent else "system" if message.role is Voice.SYSTEM else "person"
    said = f"{one_line(message.speaker)}, {weekday_and_time(message.at)}: {indented(spoken(message))}"
    return f"[{number}] ({voice}) {said}"


_SYSTEM: Final = f"""You read a stretch of conversation and write down, as narrative facts, what a long-term memory \
should keep of it.

A fact tells a whole exchange or event, not a single sentence: put together what belongs together, across several \
messages, with the reasons and the outcome. Each fact must be understood by somebody who has read nothing else: names \
instead of pronouns, and no "this" or "there" that points outside it. Keep every particular: names, numbers, amounts, \
titles, places, dates, exact wording where it matters. Leave out greetings and small talk that carries nothing.

The dimensions of a fact:
- what: what happened or is the case, in one or more whole sentences that hold all particulars.
- when: the time in words, with the weekday where the day is known ("Sunday, 9 July 2023", "the summer of 2022"). Work \
out relative words such as "yesterday" from the date of the message. Empty where no time is meant.
- where: the place, as exactly as it is known. Empty where there is none.
- who: how those involved are related, as a whole sentence, where `what` does not show it. Never repeat here what \
`what` says; leave it empty instead.
- why: motives, feelings, preferences, what it means to those involved, as a whole sentence, where `what` does not \
say it. Empty where nothing is said about that. Where the agent did something for somebody, say what it had been asked \
for.

The type of a fact; each message says before the speaker's name whether it is the agent's:
- world: about people and things, and what anybody but the agent says, does, wants or thinks.
- experience: what the agent itself did, recommended or went through. Write it in the first person ("I ...").
- opinion: a judgement or preference that the agent voiced as its own. Begin it in the first person ("I think ..."). \
Opinions of others are world facts about them.
Where no message is the agent's, every fact is of type world.

start and end: when it happened, as ISO dates no finer than what is known (2023, 2023-07, 2023-07-09, \
2023-07-09T18:30). For a single day, month or year give start alone; for a stretch of time both, and only the end that \
is known. Give null where no time is known, and never make one up: the date of a message is not by itself the date of \
what it tells. Of something planned give the date it is planned for, and say in `what` that it is a plan.

entities: the names of people, organizations, locations, products and concepts in the fact, and of others that have \
a name, such as animals (kind other), as you wrote them there. No pronouns, dates or amounts. Always use one and the \
same short form for the same one; only where two share a name, add who is meant in brackets: "Max (Lena's dog)". Where \
you do not know whether somebody is a woman or a man, repeat the name.

One person is one entity. Where the conversation uses both a relation and a name for the same person ("my roommate", \
"Emily"), find out that they are one, name both in the fact ("Emily, Ada's roommate") and use the name from then on.

relations: where one fact of your reply is the cause of another, or what made it possible or prevented it, and the \
conversation says so or plainly implies it. The target is the other fact's place in your reply, from 1. Often there \
are none.

messages: the numbers of the messages that the fact comes from, the one that says most first. Messages between \
<context> and </context> have been read before and are shown so that you understand the others: write down nothing \
that comes from them alone.

{DATA_RULE}"""


def extraction_prompt(chunk: Chunk, usual: tuple[int, int]) -> Prompt:
    """What is asked of a chunk; ``usual`` is how many facts to expect, at least and at most."""
    lines = [
        shown_message(message, number, agent=chunk.by_agent(message))
        for number, message in enumerate(chunk.shown, start=1)
    ]
    first = len(chunk.context)
    parts = [fenced("context", "\n".join(lines[:first]))] if first else []
    parts.append(fenced("messages", "\n".join(lines[first:])))
    parts.append(
        f"About {usual[0]} to {usual[1]} facts are usual for a stretch of this length. Give fewer where little is "
        "said, and none where nothing is worth keeping."
    )
    return Prompt(role=Role.EXTRACT, operation=KIND, subject=chunk.subject, system=_SYSTEM, text="\n\n".join(parts))
