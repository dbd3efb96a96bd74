"""Extract facts from a conversation (Hindsight, section 4.1.2, appendix A.1): when it is read, and with which
prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.answering.reading import (
    find_outdated,
    gather_results,
    has_all_messages,
    make_session_jobs,
    plan_chunks,
    render_chunk,
    requeue_failed,
    split_results,
)
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job
from recollect.domain.time import add_seconds
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.facts import (
    check_facts,
    list_leftover_ids,
    make_causal_links,
    make_drafts,
    select_new_drafts,
)
from recollect.methods.hindsight.replies import ExtractedFacts
from recollect.methods.hindsight.settings import ExtractSettings
from recollect.models.language import ModelRole, Prompt
from recollect.ports import Derive
from recollect.retain.chunks import Chunk
from recollect.retain.index_items import ItemDraft, index_items
from recollect.store.protocol import StoreReader
from recollect.text.fencing import DATA_RULE

KIND: Final = "hindsight.extract"


class Extractor:
    """Extracts facts from the new messages of a session. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies, settings: ExtractSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ExtractSettings()

    @property
    def kind(self) -> str:
        return KIND

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return a job for each session with new messages. It is due after the session has been quiet for some time."""
        return make_session_jobs(KIND, changes.messages, add_seconds(now, self._settings.settle_s))

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Read the messages of the job with one call for each chunk. The changes store the facts of all chunks that
        were read.

        Raises:
            ModelError: no chunk could be read.
        """
        found = [message for message in await reader.messages(job.messages) if message.session == job.payload]
        messages = sorted(found, key=lambda message: message.position)
        chunks, rest = await plan_chunks(messages, reader, self._settings)
        read, failed = split_results(chunks, await gather_results(self._read_chunk(chunk) for chunk in chunks))
        return requeue_failed(lambda reader: self._derive(read, reader, now), job, rest, failed, now)

    async def _read_chunk(self, chunk: Chunk) -> ExtractedFacts:
        prompt = build_extraction_prompt(chunk, estimate_fact_counts(chunk.tokens, self._settings))
        reply = await self._parts.model.generate(prompt, ExtractedFacts, check=lambda reply: check_facts(reply, chunk))
        return reply.value

    async def _derive(
        self, read: Sequence[tuple[Chunk, ExtractedFacts]], reader: StoreReader, now: datetime
    ) -> Changeset | None:
        """Return the changes that store the facts, or ``None`` if a message in the prompt was forgotten."""
        settings = self._settings
        parts = [
            (chunk, reply, make_drafts(reply, chunk, confidence=settings.confidence, now=now)) for chunk, reply in read
        ]
        drafts = [draft for _, _, made in parts for draft in made]
        changes = await index_items(
            select_new_drafts(drafts, await reader.items({draft.item.id for draft in drafts})),
            embedder=self._parts.embedder,
            reader=reader,
            names=self._parts.names,
            links=settings.links,
            resolve=settings.resolve,
        )
        if not await has_all_messages([chunk for chunk, _ in read], reader):
            return None
        old = await _outdated([(chunk, made) for chunk, _, made in parts], reader)
        causal = [link for _, reply, made in parts for link in make_causal_links(reply, made)]
        return replace(
            changes,
            links=(*changes.links, *causal),
            supersedes=tuple(Supersession(item=id_, at=now) for id_ in old),
        )


async def _outdated(made: Sequence[tuple[Chunk, Sequence[ItemDraft]]], reader: StoreReader) -> list[str]:
    """Return the ids of facts from an earlier reading of these messages that this reading does not repeat."""
    new = [draft.item.id for _, drafts in made for draft in drafts]
    left = [id_ for chunk, drafts in made for id_ in list_leftover_ids(chunk, drafts)]
    return await find_outdated([chunk for chunk, _ in made], new, left, [ItemKind.FACT], reader)


def estimate_fact_counts(tokens: int, settings: ExtractSettings) -> tuple[int, int]:
    """Return how many facts such a chunk usually has, at least and at most: 2 to 5 for an exchange (section 4.1.2)."""
    exchanges = max(1, round(tokens / settings.exchange_tokens))
    return 2 * exchanges, 5 * exchanges


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


def build_extraction_prompt(chunk: Chunk, expected: tuple[int, int]) -> Prompt:
    """Return the prompt for a chunk. ``expected`` is the usual number of facts, at least and at most."""
    length = (
        f"About {expected[0]} to {expected[1]} facts are usual for a stretch of this length. Give fewer "
        "where little is said, and none where nothing is worth keeping."
    )
    text = "\n\n".join([*render_chunk(chunk), length])
    return Prompt(role=ModelRole.EXTRACT, operation=KIND, subject=chunk.subject, system=_SYSTEM, text=text)
