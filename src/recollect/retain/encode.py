"""Encode without a model: messages verbatim, turns, times, names and links (the encoder of the default recipe)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.changes import Changeset, Session
from recollect.domain.items import IndexedItem, Item, ItemStage
from recollect.domain.links import Link
from recollect.domain.messages import Message, StoredMessage
from recollect.errors import MessageConflict
from recollect.models.embedder import Embedder
from recollect.retain.directory import Resolution
from recollect.retain.embed import embed_turns
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.extract import ExtractedTurn, extract_turn, make_item
from recollect.retain.extractive_summary import extract_summary, index_summaries, make_summary_id
from recollect.retain.link import LinkSettings, make_entity_links, make_semantic_links, make_temporal_links
from recollect.retain.name_similarity import ResolveSettings
from recollect.retain.resolve import NameOccurrence, resolve_many_names
from recollect.retain.segments import SegmentSettings
from recollect.retain.turns import Turn, group_turns, list_earlier_turns, restore_turn
from recollect.retain.windowing import SealedSegment, window_messages
from recollect.store.capabilities import SegmentReader, require_segments
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import Lookup, StoreReader
from recollect.text.tokens import count_all

Floats = NDArray[np.float32]
Nearest = list[list[tuple[str, float]]]

T = TypeVar("T")

_FEW_TURNS, _FEW_CHARACTERS = 4, 600
_ROLES = frozenset({"user", "assistant", "system", "tool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeSettings:
    """The constants of encoding: links, entity resolution, and segments if the recipe has any."""

    links: LinkSettings = LinkSettings()
    resolve: ResolveSettings = ResolveSettings()
    segments: SegmentSettings | None = None


class TurnEncoder:
    """Encodes RecMem's subconscious tier with Hindsight's links, and E-mem's segments if they are wanted.

    Each bank has its own encoder, because an encoder remembers the bank's names.

    Args:
        embedder: the embedder of the bank's vectors.
        names: the names that the bank knows. All objects that derive changes to the bank share them.
        settings: all constants.
    """

    def __init__(
        self, embedder: Embedder, *, names: DirectoryCache | None = None, settings: EncodeSettings | None = None
    ) -> None:
        self._embedder = embedder
        self._names = names or DirectoryCache()
        self._settings = settings or EncodeSettings()

    async def encode(
        self, messages: Sequence[Message], *, session: str, reader: StoreReader, now: datetime
    ) -> Changeset:
        """Derive what to store. See :class:`recollect.ports.Encoder`."""
        known = await reader.look_up([session], [message.id for message in messages if message.id])
        stored = _make_messages(messages, session, known, now)
        if not stored:
            return Changeset()
        turns = group_turns(stored, last=_restore_last_turn(known, session))
        changes = replace(
            await self._derive(turns, known, reader),
            sessions=(Session(id=session, started=min(message.at for message in stored)),),
            messages=tuple(stored),
        )
        return await self._add_windows(changes, known, reader)

    async def encode_remaining(self, plan: ForgetPlan, *, reader: StoreReader) -> Changeset:
        """Derive again the turns, and the summaries of segments, that lose some of their messages.

        The items that will be removed are still there at this time. Each turn is made only of its own messages, so an
        answer never comes under another question. A new summary is always an extract, whoever made the old one.
        """
        known = await reader.look_up([], [])
        turns = [restore_turn(item, plan.remaining) for item in plan.turns]
        changes = await self._derive(turns, known, reader) if turns else Changeset()
        summed = await _find_summarized((one.segment.number for one in plan.segments), reader)
        left = [one for one in plan.segments if one.segment.number in summed]
        sealed = [SealedSegment(segment=one.segment, messages=one.remaining) for one in left]
        extracts = await self._make_extracts(sealed, known, reader)
        return replace(changes, items=(*changes.items, *extracts))

    async def catch_up(self, *, reader: StoreReader) -> Changeset:
        """Put the messages that are in no segment yet into segments, if segments are wanted.

        Segments without a summary get one, if summaries are wanted.
        """
        known = await reader.look_up([], [])
        changes = await self._add_windows(Changeset(), known, reader)
        settings = self._settings.segments
        bare = await _list_unsummarized(require_segments(reader)) if settings and settings.summaries else []
        return replace(changes, items=(*changes.items, *await self._make_extracts(bare, known, reader)))

    async def encode_stored(self, messages: Sequence[StoredMessage], *, reader: StoreReader) -> Changeset:
        """Derive what is missing of stored messages. See :class:`recollect.ports.Encoder`."""
        known = await reader.look_up(sorted({message.session for message in messages}), [])
        turns: list[Turn] = []
        for run in _split_runs(messages):
            last = _restore_last_turn(known, run[0].session)
            follows = last is not None and last.parts[-1].message.position + 1 == run[0].position
            turns += group_turns(run, last=last if follows else None)
        return await self._add_windows(await self._derive(turns, known, reader), known, reader)

    async def _add_windows(self, changes: Changeset, known: Lookup, reader: StoreReader) -> Changeset:
        """Return the changes together with the changed segments, and with extracts of the full ones."""
        settings = self._settings.segments
        made = await window_messages(changes.messages, require_segments(reader), settings) if settings else None
        if made is None:
            return changes
        sealed = made.sealed if settings and settings.summaries else ()
        items = (*changes.items, *await self._make_extracts(sealed, known, reader))
        return replace(changes, items=items, segments=made.segments, stream=made.stream)

    async def _make_extracts(
        self, sealed: Sequence[SealedSegment], known: Lookup, reader: StoreReader
    ) -> tuple[IndexedItem, ...]:
        if not sealed:
            return ()
        directory = await self._names.directory_at(known, reader)
        items = await run_in_thread(lambda: [extract_summary(s.segment, s.messages, directory) for s in sealed])
        return await index_summaries(items, self._embedder)

    async def _derive(self, turns: Sequence[Turn], known: Lookup, reader: StoreReader) -> Changeset:
        directory = await self._names.directory_at(known, reader)
        speakers = frozenset(await reader.speakers()) | {part.message.speaker for turn in turns for part in turn.parts}
        people = speakers - _ROLES
        # Embedding spends most of its time outside Python or waits for a server. Texts are read meanwhile.
        vectors, extracted = await asyncio.gather(
            embed_turns(turns, self._embedder),
            _run_beside(turns, lambda: [extract_turn(turn, directory, people) for turn in turns]),
        )
        links = self._settings.links
        nearest = await reader.nearest(vectors, links.semantic + 1, links.semantic_threshold)
        items = await _run_beside(turns, lambda: _make_items(turns, extracted))
        indexed = [
            IndexedItem(item=item, vector=vector, terms=entry.terms, asks=entry.asks)
            for item, entry, vector in zip(items, extracted, vectors, strict=True)
        ]
        resolution = await resolve_many_names(_list_names(extracted), directory, self._settings.resolve)
        return Changeset(
            author=self._names.propose_change(resolution),
            items=tuple(indexed),
            links=await self._make_links(turns, indexed, nearest, resolution, known, reader),
            entities=resolution.entities,
            mentions=resolution.mentions,
            merges=resolution.merges,
        )

    async def _make_links(
        self,
        turns: Sequence[Turn],
        indexed: Sequence[IndexedItem],
        nearest: Nearest,
        resolution: Resolution,
        known: Lookup,
        reader: StoreReader,
    ) -> tuple[Link, ...]:
        settings = self._settings.links
        # A turn that is answered later is stored already. Its older version must not take the place of another turn.
        again = {entry.item.id for entry in indexed}
        entities = sorted({mention.entity for mention in resolution.mentions})
        recent = await reader.recent_mentions(entities, settings.entity + 1) if entities else {}
        before = sorted((item for item in known.recent_items if item.id not in again), key=lambda item: item.mentioned)
        return await _run_beside(
            turns,
            lambda: (
                *make_temporal_links([entry.item for entry in indexed], before, settings),
                *make_semantic_links(indexed, nearest, settings),
                *make_entity_links(resolution.mentions, recent, settings),
            ),
        )


def _restore_last_turn(known: Lookup, session: str) -> Turn | None:
    """Return the last turn of a session, because an answer may still join it."""
    end = known.session_ends[session]
    return restore_turn(end.last, end.last_messages) if end.last else None


async def _run_beside(turns: Sequence[Turn], work: Callable[[], T]) -> T:
    """Do work on turns: in a thread, or at once if there is so little of it that a thread would cost more."""
    few = len(turns) <= _FEW_TURNS and sum(len(turn.text) for turn in turns) <= _FEW_CHARACTERS
    return work() if few else await run_in_thread(work)


def _split_runs(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    """Return messages as runs that follow one another in a session without a gap."""
    runs: list[list[StoredMessage]] = []
    for message in sorted(messages, key=lambda one: (one.session, one.position)):
        before = runs[-1][-1] if runs else None
        if before and (before.session, before.position + 1) == (message.session, message.position):
            runs[-1].append(message)
        else:
            runs.append([message])
    return runs


async def _find_summarized(numbers: Iterable[int], reader: StoreReader) -> set[int]:
    """Return those of these segments that have a summary."""
    return {item.order for item in await reader.items(map(make_summary_id, numbers))}


async def _list_unsummarized(reader: SegmentReader) -> list[SealedSegment]:
    """Return the sealed segments without a summary."""
    sealed = [segment for segment in await reader.segments() if segment.is_sealed]
    summed = await _find_summarized((segment.number for segment in sealed), reader)
    bare = [segment for segment in sealed if segment.number not in summed]
    messages = await reader.segment_messages([segment.number for segment in bare])
    return [SealedSegment(segment=segment, messages=tuple(messages.get(segment.number, ()))) for segment in bare]


def _make_items(turns: Sequence[Turn], extracted: Sequence[ExtractedTurn]) -> list[Item]:
    tokens = count_all([turn.text for turn in turns])
    items = [make_item(turn, entry, cost) for turn, entry, cost in zip(turns, extracted, tokens, strict=True)]
    return [_add_stages(item, turn) for item, turn in zip(items, turns, strict=True)]


def _add_stages(item: Item, turn: Turn) -> Item:
    """Return the item together with its state before an answer came in a later call."""
    before = list_earlier_turns(turn)
    if not before:
        return item
    tokens = count_all([then.text for _, then in before])
    stages = [
        ItemStage(until=until, sources=len(then.parts), characters=len(then.text), tokens=cost)
        for (until, then), cost in zip(before, tokens, strict=True)
    ]
    return replace(item, recorded=turn.parts[0].message.recorded, stages=tuple(stages))


def _list_names(extracted: Sequence[ExtractedTurn]) -> list[NameOccurrence]:
    return [name for entry in extracted for name in entry.names]


def _make_messages(messages: Sequence[Message], session: str, known: Lookup, now: datetime) -> list[StoredMessage]:
    """Return the messages that the bank does not have, with ids, times and positions.

    Raises:
        MessageConflict: an id is already used by a message with other words, speaker, captions or session.
    """
    stored: list[StoredMessage] = []
    seen = dict(known.stored)
    position = known.session_ends[session].messages
    for message in messages:
        kept = StoredMessage(
            id=message.id or f"m{secrets.token_hex(8)}",
            session=session,
            position=position,
            speaker=message.speaker,
            role=message.role,
            text=message.text,
            captions=message.captions,
            at=message.at or now,
            recorded=now,
            important=message.important,
        )
        if kept.id in seen:
            _require_same(seen[kept.id], kept)
            continue
        seen[kept.id] = kept
        stored.append(kept)
        position += 1
    return stored


def _require_same(kept: StoredMessage, given: StoredMessage) -> None:
    if (kept.session, kept.speaker, kept.text, kept.captions) != (
        given.session,
        given.speaker,
        given.text,
        given.captions,
    ):
        raise MessageConflict(
            f"message {given.id!r} is stored already, in session {kept.session!r}, with different contents. Messages "
            "never change: give the new message another id, or forget the old one first"
        )
