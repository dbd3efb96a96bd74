"""What a store may offer of a bank beside the core: segments, triples, and a folder for models' states.

A store declares what it offers in :attr:`StoreReader.capabilities`. A function that needs more than the core names that
in its type (:class:`SegmentReader`, :class:`TripleReader`). Whoever holds a plain reader asks for the capability with
``require_segments`` or ``require_triples``; where the store lacks it, the error says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast

from recollect.domain.changes import Changeset
from recollect.domain.items import Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Scope
from recollect.domain.segments import Segment, Stream
from recollect.domain.triples import Aggregation, Ordering, TriplePattern
from recollect.errors import MissingCapability
from recollect.store.protocol import Capability, StoreReader
from recollect.store.search import TriplePage


class SegmentReader(StoreReader, Protocol):
    """A reader of a bank whose messages are put into segments (E-mem)."""

    async def stream(self) -> Stream | None:
        """Where windowing stands; ``None`` where nothing was windowed yet."""
        ...

    async def unsegmented(self) -> list[StoredMessage]:
        """Messages that were kept after the last one that was windowed, in the order in which they were kept."""
        ...

    async def segments(self, numbers: Iterable[int] | None = None) -> list[Segment]:
        """Segments by number, or every sealed one and the active one, in order: the lowest that is open.

        One of which no message is left is none.
        """
        ...

    async def segments_of(self, messages: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """For each of these messages that any holds, by id, the numbers of the segments that hold some of it, in order.

        Of open segments the active one alone counts; it holds all that is in the others.
        """
        ...

    async def segment_messages(self, numbers: Iterable[int]) -> dict[int, list[StoredMessage]]:
        """Return the messages of these segments by segment number, in the order in which the messages were kept.

        A message belongs to a segment that contains any part of it. An unknown segment has no entry.
        """
        ...


class TripleReader(StoreReader, Protocol):
    """A reader of a bank whose triples can be listed, counted and walked (REMem)."""

    async def triples(
        self,
        pattern: TriplePattern,
        scope: Scope,
        *,
        ordering: Ordering | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> TriplePage:
        """Triples in scope that fit the pattern, and how many there are in all (REMem, figure 8).

        ``asc`` is by start, and among equals by end, the earliest first: a time that is known less exactly begins
        where its first moment does, an open start comes before all others and an open end after them. ``desc`` is by
        end, and among equals by start, the latest first: a time ends where its last moment does. Without an ordering,
        and where both are equal, the order is that in which they were kept.
        """
        ...

    async def count_triples(self, pattern: TriplePattern, scope: Scope, aggregation: Aggregation) -> int:
        """How many triples fit, or how many subjects or objects they have, each counted once."""
        ...

    async def linked(
        self, items: Sequence[str], kinds: Sequence[LinkKind], scope: Scope, *, limit: int | None = None
    ) -> list[tuple[Item, float]]:
        """Items in scope that a link of these kinds joins, either way, to any of these items.

        Each once, with the weight of its heaviest link, the heaviest first and among equals what was kept first; none
        of the items themselves.
        """
        ...


class StateKeeper(StoreReader, Protocol):
    """A reader of a bank that has a place for what language models derive from its words."""

    @property
    def states(self) -> Path:
        """The folder for these states; forgetting empties it."""
        ...


def require_segments(reader: StoreReader) -> SegmentReader:
    """Return the reader as one that reads segments.

    Raises:
        MissingCapability: its store keeps none.
    """
    _require(reader, Capability.SEGMENTS)
    return cast(SegmentReader, reader)


def require_triples(reader: StoreReader) -> TripleReader:
    """Return the reader as one that reads triples.

    Raises:
        MissingCapability: its store keeps none.
    """
    _require(reader, Capability.TRIPLES)
    return cast(TripleReader, reader)


def states_folder(reader: StoreReader) -> Path | None:
    """Return the folder in which models keep their states of a bank; ``None`` where its store has no place for them."""
    return cast(StateKeeper, reader).states if Capability.STATES in reader.capabilities else None


def require_capabilities(changes: Changeset, reader: StoreReader) -> None:
    """Check that a store can keep all that changes hold; a store calls this before it writes.

    Raises:
        MissingCapability: they hold segments or triples, and the store has no place for them.
    """
    if changes.segments or changes.stream is not None:
        _require(reader, Capability.SEGMENTS)
    if any(entry.item.kind is ItemKind.TRIPLE for entry in changes.items):
        _require(reader, Capability.TRIPLES)


def _require(reader: StoreReader, capability: Capability) -> None:
    if capability not in reader.capabilities:
        offered = ", ".join(sorted(reader.capabilities)) or "nothing beside the core"
        raise MissingCapability(
            f"this needs {capability.value}, and the store of the bank {reader.name!r} keeps none "
            f"(it offers {offered}); choose a recipe that works without, or a store that has them"
        )
