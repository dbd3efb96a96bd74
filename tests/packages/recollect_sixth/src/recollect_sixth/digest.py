"""The consolidator: a digest of each session, made in the background."""

from __future__ import annotations

from datetime import datetime

from recollect.domain.changes import Changeset
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.jobs import Job
from recollect.methods.dependencies import Dependencies
from recollect.ports import Derive
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_tokens

KIND = "sixth.digest"


class Digester:
    kind = KIND

    def __init__(self, dependencies: Dependencies) -> None:
        self._embedder = dependencies.embedder

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        sessions = dict.fromkeys(message.session for message in changes.messages)
        return tuple(
            Job(
                id=f"{KIND}:{session}",
                kind=KIND,
                payload=session,
                messages=tuple(one.id for one in changes.messages if one.session == session),
            )
            for session in sessions
        )

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        async def derive(reader: StoreReader) -> Changeset:
            said = await reader.messages_of([job.payload])
            if not said:
                return Changeset()
            text = f"{len(said)} messages of {', '.join(dict.fromkeys(one.speaker for one in said))}."
            item = Item(
                id=f"sixth:digest:{job.payload}",
                kind=ItemKind.SUMMARY,
                text=text,
                session=job.payload,
                speaker="",
                sources=tuple(one.id for one in said),
                mentioned=said[-1].at,
                recorded=now,
                tokens=count_tokens(text),
                label="digest",
            )
            (vector,) = await self._embedder.embed([text])
            return Changeset(items=(IndexedItem(item=item, vector=vector, terms=extract_terms(text)),))

        return derive
