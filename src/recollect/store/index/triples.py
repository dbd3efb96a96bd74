"""Find the triples of an index by their phrases and times (REMem, figure 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recollect.domain.triples import Aggregation, Ordering, TriplePattern, fold_phrase
from recollect.store.index.bank_index import BankIndex
from recollect.store.index.row_table import RowTable
from recollect.store.index.scan import RowScope, mask_allowed
from recollect.store.index.validity import BEGIN, FINISH

TripleRows = NDArray[np.int64]

_SUBJECT, _PREDICATE, _OBJECT = range(3)
_COUNTED = {Aggregation.SUBJECTS: _SUBJECT, Aggregation.OBJECTS: _OBJECT}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplePageRequest:
    """A page of the matching triples: their order, the position of the first one, and the largest number of them."""

    ordering: Ordering | None = None
    limit: int | None = None
    offset: int = 0


def find_triple_rows(index: BankIndex, pattern: TriplePattern, scope: RowScope) -> TripleRows:
    """Return the rows of the triples in scope that match a pattern: int64 of shape ``(n,)``, ascending."""
    codes = index.table.triple.view
    mask = codes[:, _SUBJECT] >= 0
    for place, phrases in (
        (_SUBJECT, pattern.subjects),
        (_PREDICATE, pattern.predicates),
        (_OBJECT, pattern.objects),
    ):
        if phrases:
            mask &= _match_codes(codes[:, place], index.table.phrases.find(map(fold_phrase, phrases)))
    mask &= mask_allowed(index, replace(scope, kinds=()))
    return np.flatnonzero(mask)


def select_page(table: RowTable, rows: TripleRows, page: TriplePageRequest) -> TripleRows:
    """Return the rows of a page, in order. See :meth:`recollect.store.capabilities.TripleReader.triples`."""
    held = table.held.view[rows]
    match page.ordering:
        case None:
            keys: tuple[TripleRows, ...] = ()
        case Ordering.ASC:
            keys = held[:, BEGIN], held[:, FINISH]
        case Ordering.DESC:
            keys = -held[:, FINISH], -held[:, BEGIN]
    end = len(rows) if page.limit is None else min(len(rows), page.offset + page.limit)
    first = _select_least((*keys, table.seq.view[rows]), end)
    return rows[first[page.offset : end]]


def count_triple_rows(table: RowTable, rows: TripleRows, aggregation: Aggregation) -> int:
    """Return the number of rows, or the number of different subjects or objects that they have."""
    place = _COUNTED.get(aggregation)
    return len(rows) if place is None else len(np.unique(table.triple.view[rows, place]))


def _match_codes(column: NDArray[np.int32], codes: Sequence[int]) -> NDArray[np.bool_]:
    return column == codes[0] if len(codes) == 1 else np.isin(column, codes)


def _select_least(keys: Sequence[TripleRows], count: int) -> NDArray[np.intp]:
    """Return the positions of the ``count`` smallest, in order: by the first key, then by the next, and so on."""
    places = np.arange(len(keys[0]))
    if 0 < count < len(places):  # values that cannot be among them are not sorted
        worst = np.partition(keys[0], count - 1)[count - 1]
        places = np.flatnonzero(keys[0] <= worst)
    return places[np.lexsort([key[places] for key in reversed(keys)])]
