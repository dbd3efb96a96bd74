"""Opinions are read while others move them: none seems to be gone for a moment.

A store may list steps, and load them a moment later: then the last step of the list is superseded by one that is not
in it. A fact that was held against the opinions just then would never be held against that one.
"""

from __future__ import annotations

from dataclasses import replace

from bank_under_test import START

from recollect.domain.items import Item, ItemKind
from recollect.methods.hindsight.opinions import opinions_of

FORMED = Item(
    id="opinion:dogs:0:formed",
    kind=ItemKind.OPINION,
    text="I think dogs are good company.",
    session="opinion:dogs",
    speaker="Iris",
    sources=("m1",),
    mentioned=START,
    recorded=START,
    confidence=0.6,
)
GONE = replace(FORMED, superseded=START)
MOVED = replace(FORMED, id="opinion:dogs:1:reinforce", confidence=0.75, derived_from=(FORMED.id, "fact:1"), order=1)
OTHER = replace(FORMED, id="opinion:cats:0:formed", session="opinion:cats", text="I think cats are better company.")


class Torn:
    """A reader that lists these in turn, the last again and again."""

    def __init__(self, *lists: list[Item]) -> None:
        self._lists, self.looks = list(lists), 0

    async def items_of(self, kinds, **how):
        self.looks += 1
        return self._lists[min(self.looks, len(self._lists)) - 1]

    async def mentions_of(self, items):
        return []

    async def entities(self, ids=None):
        return []


async def test_an_opinion_that_is_moved_while_it_is_read_is_read_again():
    reader = Torn([OTHER, GONE], [MOVED, OTHER, GONE])
    assert {opinion.id: opinion.confidence for opinion in await opinions_of(reader)} == {
        "opinion:dogs": 0.75,
        "opinion:cats": 0.6,
    }
    assert reader.looks == 2


async def test_one_look_is_enough_where_nobody_writes():
    reader = Torn([GONE, MOVED])
    assert [opinion.confidence for opinion in await opinions_of(reader)] == [0.75]
    assert reader.looks == 1


async def test_an_opinion_whose_last_step_holds_no_longer_is_none():
    reader = Torn([GONE, OTHER])
    assert [opinion.id for opinion in await opinions_of(reader)] == ["opinion:cats"]
    assert reader.looks > 1
