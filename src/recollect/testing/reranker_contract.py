"""The contract of rerankers. Subclass it and define the fixture, and pytest runs the rest.

::

    class TestMyReranker(RerankerContract):
        @pytest.fixture
        def reranker(self) -> Reranker:
            return MyReranker()
"""

from __future__ import annotations

import asyncio
import math

import pytest

from recollect.models.reranker import Reranker

QUERY = "When did Ada adopt the dog Toby?"
PASSAGES = (
    "The quarterly report is due on Friday.",
    "Ada adopted a dog called Toby from the shelter in July.",
    "Grüße aus Zürich, 東京 и Москва! 🐕",
)
ODD_TEXTS = ("", "   \n\t", "nul \x00 inside", "half a pair \ud83d", "🐕👩‍👩‍👧", "no end " * 150_000)


class RerankerContract:
    """The contract suite of rerankers.

    ``understands`` is true if the passage with the answer must come first. A model with random weights sets it to
    False. ``tolerance`` is the largest change of a score if the passage is scored together with others.
    """

    understands = True
    tolerance = 1e-3

    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError("define a fixture named reranker that returns the reranker under test")

    def test_the_name_is_fixed(self, reranker: Reranker) -> None:
        name = reranker.name
        asyncio.run(reranker.score(QUERY, PASSAGES))
        assert name.strip()
        assert "\n" not in name
        assert reranker.name == name

    def test_one_finite_score_a_passage(self, reranker: Reranker) -> None:
        scores = asyncio.run(reranker.score(QUERY, PASSAGES * 20))
        assert len(scores) == 20 * len(PASSAGES)
        assert all(isinstance(score, float) and math.isfinite(score) for score in scores)

    def test_no_passages_give_no_scores(self, reranker: Reranker) -> None:
        assert asyncio.run(reranker.score(QUERY, [])) == []

    def test_scores_come_in_the_passages_order(self, reranker: Reranker) -> None:
        forward = asyncio.run(reranker.score(QUERY, PASSAGES))
        backward = asyncio.run(reranker.score(QUERY, PASSAGES[::-1]))
        assert backward[::-1] == pytest.approx(forward, abs=self.tolerance)

    @pytest.mark.parametrize(
        "text", ODD_TEXTS, ids=["empty", "blank", "nul", "surrogate", "emoji", "a million characters"]
    )
    def test_odd_texts_are_scored(self, reranker: Reranker, text: str) -> None:
        assert len(asyncio.run(reranker.score(QUERY, [PASSAGES[0], text]))) == 2
        assert len(asyncio.run(reranker.score(text, PASSAGES))) == len(PASSAGES)

    def test_the_passage_with_the_answer_comes_first(self, reranker: Reranker) -> None:
        if not self.understands:
            pytest.skip("this reranker does not claim to understand")
        scores = asyncio.run(reranker.score(QUERY, PASSAGES))
        assert max(scores) == scores[1]
