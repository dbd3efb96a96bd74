import math

import numpy as np
import pytest

from benchmarks.baselines import Bm25, Cosine, Fused, MessageBank, baselines, document, ranked
from recollect.domain.messages import Message


class Table:
    """Embeds by a table of unit vectors."""

    name, dimension = "table", 2
    vectors = {  # noqa: RUF012
        "east": (1.0, 0.0),
        "north": (0.0, 1.0),
        "north east": (0.8, 0.6),
        "west": (-1.0, 0.0),
    }

    async def embed(self, texts, *, purpose="document"):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


async def test_cosine_over_two_batches():
    ranker = Cosine(Table())
    await ranker.add(["north", "west"])
    await ranker.add(["east", "north east"])
    scores = await ranker.scores("east")
    assert scores == pytest.approx([0, -1, 1, 0.8])
    assert ranked(scores).tolist() == [2, 3]


async def test_bm25_by_hand():
    ranker = Bm25()
    await ranker.add(["dog dog cat", "cat", "fish bird"])
    # Three documents of 3, 1 and 2 terms: the mean is 2. "dogs" is the stem "dog": in one document, twice.
    rarity = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    penalty = 1.2 * (1 - 0.75 + 0.75 * 3 / 2)
    assert await ranker.scores("dogs") == pytest.approx([rarity * 2.2 * 2 / (2 + penalty), 0, 0])
    # A cat in the shorter document weighs more.
    assert ranked(await ranker.scores("the cats")).tolist() == [1, 0]
    assert ranked(await ranker.scores("whale")).tolist() == []


async def test_bm25_counts_documents_that_come_later():
    ranker = Bm25()
    await ranker.add(["dog"])
    before = (await ranker.scores("dog"))[0]
    await ranker.add(["cat"])
    assert (await ranker.scores("dog"))[0] > before


class Scripted:
    def __init__(self, *scores):
        self._scores = np.array(scores, dtype=np.float32)

    async def add(self, texts): ...

    async def scores(self, question):
        return self._scores


async def test_rrf_by_hand():
    # The first ranks 0, 1, 2; the second 2, 0 and does not find 1.
    scores = await Fused(Scripted(3, 2, 1), Scripted(1, 0, 2)).scores("anything")
    assert scores == pytest.approx([1 / 61 + 1 / 62, 1 / 62, 1 / 63 + 1 / 61])
    assert ranked(scores).tolist() == [0, 2, 1]


async def test_a_bank_gives_ids_of_messages():
    bank = MessageBank(Scripted(0.1, 0.3, 0.2))
    await bank.retain([Message(id="a", text="x"), Message(id="b", text="y")], session="1")
    await bank.retain([Message(id="c", text="z")], session="2")
    found = await bank.recall("q", limit=2, max_tokens=None, now=None)
    assert [piece.sources for piece in found.evidence] == [("b",), ("c",)]


def test_a_document_has_the_speaker_and_what_pictures_show():
    assert document(Message(speaker="Ada", text="Look!", captions=("a brown dog",))) == "Ada: Look! a brown dog"


async def test_every_baseline_opens_an_empty_bank():
    for open_bank in baselines(Table()).values():
        one, other = await open_bank("one"), await open_bank("two")
        assert one is not other
        await one.close()
        assert one.size_bytes() == 0
