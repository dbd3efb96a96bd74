"""The encoder: an item for each sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from recollect.domain.changes import Changeset, Session
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.messages import Message, StoredMessage
from recollect.methods.dependencies import Dependencies
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_tokens


class SentenceEncoder:
    def __init__(self, dependencies: Dependencies) -> None:
        self._embedder = dependencies.embedder

    async def encode(
        self, messages: Sequence[Message], *, session: str, reader: StoreReader, now: datetime
    ) -> Changeset:
        known = await reader.look_up([session], [message.id for message in messages if message.id])
        position = known.session_ends[session].messages
        new = [message for message in messages if message.id not in known.stored]
        stored = [
            StoredMessage(
                id=message.id or f"{session}-{place}",
                session=session,
                position=place,
                speaker=message.speaker,
                role=message.role,
                text=message.text,
                captions=message.captions,
                at=message.at or now,
                recorded=now,
                important=message.important,
            )
            for place, message in enumerate(new, start=position)
        ]
        if not stored:
            return Changeset()
        return Changeset(
            sessions=(Session(id=session, started=min(message.at for message in stored)),),
            messages=tuple(stored),
            items=await self._sentences(stored),
        )

    async def encode_remaining(self, plan: ForgetPlan, *, reader: StoreReader) -> Changeset:
        return Changeset()  # a sentence has one message, and goes with it

    async def catch_up(self, *, reader: StoreReader) -> Changeset:
        return Changeset()

    async def encode_stored(self, messages: Sequence[StoredMessage], *, reader: StoreReader) -> Changeset:
        return Changeset(items=await self._sentences(messages))

    async def _sentences(self, stored: Sequence[StoredMessage]) -> tuple[IndexedItem, ...]:
        items = [
            Item(
                id=f"sixth:{message.id}:{number}",
                kind=ItemKind.TURN,
                text=text,
                session=message.session,
                speaker=message.speaker,
                sources=(message.id,),
                mentioned=message.at,
                recorded=message.recorded,
                order=message.position * 1000 + number,
                tokens=count_tokens(text),
                label="sentence",
            )
            for message in stored
            for number, text in enumerate(re.split(r"(?<=[.!?])\s+", message.text))
        ]
        vectors = await self._embedder.embed([item.text for item in items])
        return tuple(
            IndexedItem(item=item, vector=vector, terms=extract_terms(item.text))
            for item, vector in zip(items, vectors, strict=True)
        )
