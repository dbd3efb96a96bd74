"""The contract of embedders. Subclass it and define the fixture, and pytest runs the rest.

::

    class TestMyEmbedder(EmbedderContract):
        @pytest.fixture
        def embedder(self) -> Embedder:
            return MyEmbedder()
"""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from recollect.models.embedder import Embedder, Purpose

TEXTS = (
    "Ada adopted a dog called Toby from the shelter.",
    "The quarterly report is due on Friday.",
    "Grüße aus Zürich, 東京 и Москва! 🐕",
    "ok",
)
ODD_TEXTS = ("", "   \n\t", "nul \x00 inside", "half a pair \ud83d", "🐕👩‍👩‍👧", "no end " * 150_000)


class EmbedderContract:
    """The contract suite of embedders.

    ``understands`` is true if texts of similar meaning must be near each other. A model with random weights sets it to
    False. ``tolerance`` is the largest change of a vector's numbers if the text is embedded in another batch.
    """

    understands = True
    tolerance = 1e-3

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("define a fixture named embedder that returns the embedder under test")

    def test_name_and_dimension_are_fixed(self, embedder: Embedder) -> None:
        name, dimension = embedder.name, embedder.dimension
        asyncio.run(embedder.embed(TEXTS))
        assert name.strip()
        assert "\n" not in name
        assert dimension > 0
        assert (embedder.name, embedder.dimension) == (name, dimension)

    @pytest.mark.parametrize("purpose", ["document", "query"])
    def test_rows_are_float32_of_length_one(self, embedder: Embedder, purpose: Purpose) -> None:
        vectors = asyncio.run(embedder.embed(TEXTS, purpose=purpose))
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        vectors = asyncio.run(embedder.embed([]))
        assert vectors.shape == (0, embedder.dimension)
        assert vectors.dtype == np.float32

    @pytest.mark.parametrize(
        "text", ODD_TEXTS, ids=["empty", "blank", "nul", "surrogate", "emoji", "a million characters"]
    )
    def test_odd_texts_are_embedded_or_zero(self, embedder: Embedder, text: str) -> None:
        vectors = asyncio.run(embedder.embed([TEXTS[0], text]))
        length = float(np.linalg.norm(vectors[1]))
        assert length == pytest.approx(1.0, abs=1e-3) or length == 0.0
        assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-3)

    def test_a_vector_does_not_depend_on_its_batch(self, embedder: Embedder) -> None:
        together = asyncio.run(embedder.embed([*TEXTS, *TEXTS[::-1]] * 5))
        alone = np.concatenate([asyncio.run(embedder.embed([text])) for text in TEXTS])
        np.testing.assert_allclose(together[: len(TEXTS)], alone, atol=self.tolerance)
        np.testing.assert_allclose(together[len(TEXTS) : 2 * len(TEXTS)], alone[::-1], atol=self.tolerance)

    def test_calls_at_the_same_time_do_not_disturb_each_other(self, embedder: Embedder) -> None:
        async def embed_all() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
            return await asyncio.gather(*(embedder.embed([text]) for text in TEXTS * 4))

        alone = np.concatenate([asyncio.run(embedder.embed([text])) for text in TEXTS])
        np.testing.assert_allclose(
            np.concatenate(asyncio.run(embed_all())), np.tile(alone, (4, 1)), atol=self.tolerance
        )

    def test_like_texts_are_nearer_than_unlike_ones(self, embedder: Embedder) -> None:
        if not self.understands:
            pytest.skip("this embedder does not claim to understand")
        query = asyncio.run(embedder.embed(["When did Ada adopt the dog Toby?"], purpose="query"))[0]
        near, far = asyncio.run(embedder.embed(TEXTS[:2])) @ query
        assert near > far
