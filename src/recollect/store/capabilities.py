"""The capabilities that a store may offer besides the core: segments, triples, and a folder for the states of models.

A store declares its capabilities in :attr:`StoreReader.capabilities`. A function that needs more than the core names
the reader that it needs in its signature (:class:`SegmentReader`, :class:`TripleReader`). A caller with a plain reader
asks for the capability with ``require_segments`` or ``require_triples``. If the store lacks it, the error says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast

from recollect.domain.changes import Changeset
from recollect.domain.items import Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Scope
from recollect.domain.segments import Segment, Stream, Windowing
from recollect.domain.triples import Aggregation, Ordering, TriplePattern
from recollect.errors import MissingCapability
from recollect.store.protocol import Capability, StoreReader
from recollect.store.search import TriplePage


class SegmentReader(StoreReader, Protocol):
    """A reader of a bank whose messages are put into segments (E-mem)."""

    async def stream(self) -> Stream | None:
        """Return the state of the windowing, or ``None`` if no message was put into a window yet."""
        ...

    async def windowing(self, open_windows: Callable[[Stream | None], Sequence[int]]) -> Windowing:
        """Return the state of the windowing at one moment.

        ``open_windows`` returns the numbers of the windows to return, from the stream.
        """
        ...

    async def unsegmented(self) -> list[StoredMessage]:
        """Return the messages that were stored after the last windowed one, in the order in which they were stored."""
        ...

    async def segments(self, numbers: Iterable[int] | None = None) -> list[Segment]:
        """Return the segments with these numbers in order.

        Without ``numbers``, return every sealed segment and the active one. The active segment is the open one with the
        lowest number. A segment of which no message is left is not returned.
        """
        ...

    async def segments_of(self, messages: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return the numbers of the segments that contain at least a part of each message, by the id of the message.

        The numbers are in order. A message that is in no segment is left out. Of the open segments only the active one
        counts, because it contains everything that is in the others.
        """
        ...

    async def segment_messages(self, numbers: Iterable[int]) -> dict[int, list[StoredMessage]]:
        """Return the messages of these segments by segment number, in the order in which the messages were stored.

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
        """Return the triples in scope that match the pattern, and their total number (REMem, figure 8).

        ``asc`` sorts by start and then by end, the earliest first. A time that is known less exactly begins at its
        first moment. An open start comes before all other starts, and an open end after all other ends. ``desc`` sorts
        by end and then by start, the latest first. A time ends at its last moment. Without an ordering, and if both
        times are equal, triples are in the order in which they were stored.
        """
        ...

    async def count_triples(self, pattern: TriplePattern, scope: Scope, aggregation: Aggregation) -> int:
        """Return the number of triples that match, or the number of different subjects or objects that they have."""
        ...

    async def linked(
        self, items: Sequence[str], kinds: Sequence[LinkKind], scope: Scope, *, limit: int | None = None
    ) -> list[tuple[Item, float]]:
        """Return the items in scope that a link of these kinds connects to any of these items, in either direction.

        Each item comes once, with the weight of its heaviest link, the heaviest first. Items of equal weight are in the
        order in which they were stored. The given items themselves are left out.
        """
        ...


class StateKeeper(StoreReader, Protocol):
    """A reader of a bank that has a folder for the states that language models derive from its words."""

    @property
    def states(self) -> Path:
        """Return the folder for the states of language models. Forgetting empties it."""
        ...


def require_segments(reader: StoreReader) -> SegmentReader:
    """Return the reader as one that reads segments.

    Raises:
        MissingCapability: the store of the reader does not keep segments.
    """
    _require(reader, Capability.SEGMENTS)
    return cast(SegmentReader, reader)


def require_triples(reader: StoreReader) -> TripleReader:
    """Return the reader as one that reads triples.

    Raises:
        MissingCapability: the store of the reader does not keep triples.
    """
    _require(reader, Capability.TRIPLES)
    return cast(TripleReader, reader)


def states_folder(reader: StoreReader) -> Path | None:
    """Return the folder in which models store their states of a bank, or ``None`` if its store has no such folder."""
    return cast(StateKeeper, reader).states if Capability.STATES in reader.capabilities else None


def require_capabilities(changes: Changeset, reader: StoreReader) -> None:
    """Raise an error if a store cannot keep all parts of the changes. A store calls this before it writes.

    Raises:
        MissingCapability: the changes contain segments or triples, and the store cannot keep them.
    """
    if changes.segments or changes.stream is not None:
        _require(reader, Capability.SEGMENTS)
    if any(entry.item.kind is ItemKind.TRIPLE for entry in changes.items):
        _require(reader, Capability.TRIPLES)


def _require(reader: StoreReader, capability: Capability) -> None:
    if capability not in reader.capabilities:
        offered = ", ".join(sorted(reader.capabilities)) or "only the core"
        raise MissingCapability(
            f"this needs {capability.value}, but the store of the bank {reader.name!r} does not keep them "
            f"(it offers {offered}). Choose a recipe that does not need them, or a store that keeps them"
        )
