"""The reranker's order, and what it reads."""

from datetime import UTC, datetime

import pytest

from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.domain.time import Interval, Precision
from recollect.errors import ModelError
from recollect.recall.rerank import render_passage, rerank_items
from recollect.testing.models import OverlapReranker


def item(text, *occurrences):
    return Item(
        id="i",
        kind=ItemKind.TURN,
        text=text,
        session="s",
        speaker="Ada",
        sources=("m",),
        mentioned=datetime(2024, 5, 9, 18, tzinfo=UTC),
        recorded=datetime(2024, 6, 1, tzinfo=UTC),
        occurrences=occurrences,
    )


ITEMS = [item(text) for text in ("one two", "red", "red green blue", "red green", "red green blue black")]


class Remembering(OverlapReranker):
    def __init__(self):
        self.calls = []

    async def score(self, query, passages):
        self.calls.append((query, passages))
        return await super().score(query, passages)


@pytest.mark.parametrize(
    ("top", "order"), [(9, [4, 2, 3, 1, 0]), (5, [4, 2, 3, 1, 0]), (3, [2, 1, 0, 3, 4]), (1, [0, 1, 2, 3, 4])]
)
async def test_the_first_are_put_in_order_and_the_rest_stay(top, order):
    reranker = Remembering()
    assert await rerank_items(reranker, "red green blue black", [ITEMS], top) == [order]
    ((query, passages),) = reranker.calls
    assert (query, len(passages)) == ("red green blue black", min(top, 5))


async def test_equal_scores_keep_the_order_they_had():
    assert await rerank_items(OverlapReranker(), "nothing of it", [ITEMS], 5) == [[0, 1, 2, 3, 4]]
    assert await rerank_items(OverlapReranker(), "red", [[]], 5) == [[]]


def test_a_passage_tells_when_and_by_whom():
    assert render_passage(item("I ran.")) == "[09 May 2024] Ada: I ran."


def test_a_passage_tells_the_times_its_words_mean():
    may = [datetime(2024, 5, day, tzinfo=UTC) for day in (8, 9)]
    yesterday = Occurrence(words="yesterday", interval=Interval(start=may[0], end=may[1], precision=Precision.DAY))
    since = Occurrence(words="since May", interval=Interval(start=may[0], end=None, precision=Precision.DAY))
    told = render_passage(item("I ran yesterday.", yesterday, since))
    assert told == "[09 May 2024] Ada: I ran yesterday. (yesterday: 8 May 2024; since May: since 8 May 2024)"


class Miscounting:
    name = "miscounting"

    def __init__(self, count):
        self.count = count

    async def score(self, query, passages):
        return [1.0] * self.count


@pytest.mark.parametrize("count", [0, 2, 4])
async def test_a_wrong_number_of_scores_is_an_error_of_the_model(count):
    with pytest.raises(ModelError, match=f"miscounting returned {count} scores for 3"):
        await rerank_items(Miscounting(count), "red", [ITEMS[:3]], 5)
