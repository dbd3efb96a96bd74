"""The embedder for any OpenAI-compatible embeddings endpoint: OpenAI, vLLM, Ollama, TEI, LM Studio and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recollect._tokenizer import replace_surrogates
from recollect.errors import InvalidInput, ModelUnavailable
from recollect.models._http import Endpoint
from recollect.models.embedder import Purpose, Vectors
from recollect.models.embedders.vectors import name_with_prompt, normalize_rows

if TYPE_CHECKING:
    import httpx


class EndpointEmbedder:
    """Embeds texts with ``POST {base_url}/embeddings``, one batch after another.

    The dimension is given, or the endpoint is asked for it: ``await EndpointEmbedder(model, url).connect()`` is ready
    to use. Texts that are blank are not sent, because OpenAI refuses them. Their rows are 0. Threads and event loops
    can share an embedder.

    Args:
        model: the name of the model at the endpoint.
        base_url: for example ``https://api.openai.com/v1`` or ``http://localhost:11434/v1``.
        api_key: sent as a bearer token, and never shown.
        dimension: the length of the model's vectors, if it is known.
        batch_size: the number of texts in a request.
        timeout: the seconds for one request with all its tries. The answer must be complete by then.
        retries: how often a request is tried again after a broken connection, a 429 or a 5xx, while there is time.
        max_characters: the number of characters of each text that are sent. The rest is cut.
        query_prompt: put before each query. Some models were trained with such a prompt (E5: ``"query: "``).
        document_prompt: put before each document. It is a part of the embedder's name, because it changes the vectors.
        transport: an httpx transport to use instead of the network.

    Raises:
        InvalidInput: the address or the key cannot be used, or a number is not positive.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None = None,
        *,
        dimension: int | None = None,
        batch_size: int = 64,
        timeout: float = 30.0,
        retries: int = 3,
        max_characters: int = 16_384,
        query_prompt: str = "",
        document_prompt: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if batch_size < 1 or max_characters < 1 or (dimension is not None and dimension < 1):
            raise InvalidInput("batch_size, max_characters and dimension must be at least 1")
        url = f"{base_url.rstrip('/')}/embeddings"
        self._endpoint = Endpoint(url=url, api_key=api_key, timeout=timeout, retries=retries, transport=transport)
        self._model = model
        self._dimension = dimension
        self._batch_size = batch_size
        self._max_characters = max_characters
        self._prompts: dict[Purpose, str] = {"query": query_prompt, "document": document_prompt}

    @property
    def name(self) -> str:
        return name_with_prompt(self._model, self._prompts["document"])

    @property
    def dimension(self) -> int:
        """Return the length of the vectors.

        Raises:
            ModelUnavailable: the dimension was not given, and the endpoint has not been asked yet.
        """
        if self._dimension is None:
            raise ModelUnavailable(
                f"the dimension of {self._model} is not known yet. Give it, or await connect() first"
            )
        return self._dimension

    async def connect(self) -> EndpointEmbedder:
        """Find the dimension by embedding one word, unless it is known. Return the embedder itself.

        Raises:
            ModelUnavailable: the endpoint could not be reached, or returned no vector.
            MissingExtra: httpx is not installed.
        """
        if self._dimension is None:
            self._dimension = (await self._ask(["dimension"])).shape[1]
        return self

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts. Return float32 of shape ``(len(texts), dimension)`` with rows of length 1. Rows of blank texts
        are 0.

        Raises:
            ModelUnavailable: the endpoint could not be reached, or its vectors do not fit the texts or the dimension.
            MissingExtra: httpx is not installed.
        """
        dimension = (await self.connect()).dimension
        vectors = np.zeros((len(texts), dimension), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text and not text.isspace()]
        if rows:
            prompt = self._prompts[purpose]
            found = await self._ask([prompt + replace_surrogates(texts[row][: self._max_characters]) for row in rows])
            if found.shape[1] != dimension:
                raise ModelUnavailable(
                    f"{self._model} returned vectors of {found.shape[1]} numbers instead of {dimension}"
                )
            vectors[rows] = found
        return normalize_rows(vectors)

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        runs = [texts[at : at + self._batch_size] for at in range(0, len(texts), self._batch_size)]
        answers = await self._endpoint.post_all([{"model": self._model, "input": list(run)} for run in runs])
        try:
            return np.concatenate([parse_vectors(answer, len(run)) for answer, run in zip(answers, runs, strict=True)])
        except (KeyError, TypeError, ValueError) as exc:
            raise self._endpoint.failure(f"gave no usable embeddings: {type(exc).__name__}: {exc}") from exc


def parse_vectors(answer: object, count: int) -> Vectors:
    """Return the vectors of an answer in the order of their texts: float32 of shape ``(count, dimension)``.

    Raises:
        ValueError, TypeError, KeyError: the answer is not a list of ``count`` equally long vectors of finite numbers.
    """
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        raise TypeError("the answer has no list called data")
    entries = sorted(data, key=lambda entry: int(entry["index"]))
    if [int(entry["index"]) for entry in entries] != list(range(count)):
        raise ValueError(f"{len(entries)} vectors came back for {count} texts")
    vectors = np.array([entry["embedding"] for entry in entries], dtype=np.float32)
    if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise ValueError("the vectors are empty, or contain numbers that are not finite")
    return vectors
