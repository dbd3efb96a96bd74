"""One question's view of a bank: what arms find, and what is known of what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item
from recollect.domain.links import LinkKind
from recollect.domain.signals import Signals

Refs = NDArray[np.int64]
Floats = NDArray[np.float32]

LINK_KINDS = tuple(LinkKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What an arm found: references to items, best first, and its scores; both of shape ``(n,)``.

    ``note`` is for the arm's line in the receipt: what a user should know of how it searched.
    """

    refs: Refs
    scores: Floats
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Links as they are walked, one way each: from, to (references), kind and weight, all of shape ``(n,)``.

    ``kinds`` are places in :data:`LINK_KINDS`, int8.
    """

    origins: Refs
    targets: Refs
    kinds: NDArray[np.int8]
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplePage:
    """Some of the triples that were asked for, in their order, and how many there are in all."""

    items: tuple[Item, ...]
    total: int


class Search(Protocol):
    """One question's view of a bank. Every method keeps to the scope it was opened with."""

    async def semantic(self, k: int) -> Hits: ...

    async def lexical(self, k: int) -> Hits: ...

    async def temporal(self, k: int) -> Hits: ...

    async def edges(self, refs: Refs, limit: int) -> Edges:
        """Links of items, the ``limit`` heaviest of each, both ends in scope."""
        ...

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        """Which items overlap the time asked about (equation 13)."""
        ...

    async def signals(self, refs: Refs, graph: Floats) -> Signals: ...

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        """References and items in that order; items that are gone meanwhile are left out.

        In a scope with ``as_of``, items are given as they were then (:meth:`Item.as_of`).
        """
        ...
