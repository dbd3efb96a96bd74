"""The two interfaces between a store and the index in memory: the rows to index, and the items that were found.

A store that cannot search by itself implements both over its tables, and gives them to
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

    ``version`` grows with each write. ``epoch`` changes when items are removed, or when all items get new vectors. An
    index of another epoch is built again.
    """

    @property
    def version(self) -> int: ...

    @property
    def epoch(self) -> int: ...

    def batches(self, since: int, upto: int) -> Iterator[RowBatch]:
        """Yield the items that were written after version ``since`` and up to version ``upto``.

        They are in the order of their numbers. A batch is small enough to be indexed in a few milliseconds, because the
        event loop runs between two batches.
        """
        ...

    def count(self, since: int, upto: int) -> int:
        """Return the largest number of items that :meth:`batches` would yield.

        The index reserves memory for that number.
        """
        ...

    def numbers(self, upto: int) -> NDArray[np.int64]:
        """Return the numbers, ascending, of the items that were not written again after the version ``upto``."""
        ...


class RowFeed(Protocol):
    """The source of rows for an index that keeps itself up to date."""

    def snapshot(self) -> AbstractContextManager[FeedSnapshot]: ...


class ItemSource(Protocol):
    """The source of what a search needs in addition to the index. Items are named by their numbers."""

    def load(self, numbers: Sequence[int]) -> list[tuple[int, Item]]:
        """Return numbers and items in the order of ``numbers``. Items that were removed are left out."""
        ...

    def ids_of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of items, by their numbers."""
        ...

    def hidden_by(self, ids: Collection[str]) -> list[int]:
        """Return the numbers of the items with one of these ids, and of those that came from a message with one."""
        ...

    def holding(self, phrases: Sequence[str]) -> list[int]:
        """Return the numbers of items that contain one of these phrases word for word, in upper or lower case.

        There are at most 1,000.
        """
        ...

    def edges(self, refs: Refs) -> Edges:
        """Return the links of items in both directions. Each edge leads from one of these items to another item."""
        ...

    def linked(self, items: Sequence[str], kinds: Sequence[LinkKind]) -> list[tuple[int, float]]:
        """Return the items that links of these kinds connect to any of these items (ids), with the heaviest weight.

        The given items themselves are left out.
        """
        ...
