"""An array that grows at its end without a copy at each write."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

T = TypeVar("T", bound=np.generic)


class GrowArray(Generic[T]):
    """A numpy array of shape ``(n, *tail)`` that can grow at its end.

    Its capacity doubles, so that the cost of appending depends only on the appended entries.
    """

    def __init__(self, dtype: DTypeLike, tail: tuple[int, ...] = ()) -> None:
        self._data: NDArray[Any] = np.empty((0, *tail), dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[T]:
        """Return the entries that were appended so far. It is a view: writing to it writes to the array."""
        return self._data[: self._size]

    def append(self, block: NDArray[T]) -> None:
        needed = self._size + len(block)
        if needed > len(self._data):
            self._resize(max(needed, 2 * len(self._data), 64))
        self._data[self._size : needed] = block
        self._size = needed

    def reserve(self, count: int) -> None:
        """Make room for ``count`` more entries, if they would not fit into twice the capacity."""
        if self._size + count > 2 * len(self._data):
            self._resize(self._size + count)

    def _resize(self, capacity: int) -> None:
        grown = np.empty((capacity, *self._data.shape[1:]), dtype=self._data.dtype)
        grown[: self._size] = self.view
        self._data = grown
