"""The two seams between a store and the index in memory: the rows to index, and the items that were found.

A store without a search of its own implements both over its tables, and hands them to
:class:`recollect.store.index.memory.MemoryIndex`. All calls come from threads, never from the event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item
from recollect.domain.links import LinkKind
from recollect.store.index.row_batch import RowBatch
from recollect.store.search import Edges, Refs


class FeedSnapshot(Protocol):
    """The rows of a bank at one moment.

    ``version`` grows with each write. ``epoch`` changes when items were removed, or all of them have new vectors: an
    index of another epoch is built anew.
    """

    @property
    def version(self) -> int: ...

    @property
    def epoch(self) -> int: ...

    def batches(self, since: int, upto: int) -> Iterator[RowBatch]:
        """Yield the items that were written after one version and up to another, in the order of their numbers.

        A batch is small enough to be indexed in a few milliseconds: between two batches the event loop gets its turn.
        """
        ...

    def count(self, since: int, upto: int) -> int:
        """Return how many items :meth:`batches` would yield, at most; memory is reserved for so many."""
        ...

    def numbers(self, upto: int) -> NDArray[np.int64]:
        """Return the numbers, ascending, of the items that were not written again after a version."""
        ...


class RowFeed(Protocol):
    """Gives the rows of a bank to an index that keeps itself up to date."""

    def snapshot(self) -> AbstractContextManager[FeedSnapshot]: ...


class ItemSource(Protocol):
    """Gives what a search needs beside the index; items are named by their numbers."""

    def load(self, numbers: Sequence[int]) -> list[tuple[int, Item]]:
        """Return numbers and items in that order; items that are gone are left out."""
        ...

    def ids_of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of items, by their numbers."""
        ...

    def hidden_by(self, ids: Collection[str]) -> list[int]:
        """Return the numbers of the items that have one of these ids, or came from a message that has one."""
        ...

    def holding(self, phrases: Sequence[str]) -> list[int]:
        """Return the numbers of items that hold one of these phrases word for word, in any case; 1,000 at most."""
        ...

    def edges(self, refs: Refs) -> Edges:
        """Return the links of items, in both directions, each from one of these items to another."""
        ...

    def linked(self, items: Sequence[str], kinds: Sequence[LinkKind]) -> list[tuple[int, float]]:
        """Return the items that links of these kinds join to any of these (ids), each with its heaviest weight.

        The items themselves are left out.
        """
        ...
