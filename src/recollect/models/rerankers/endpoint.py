"""Score with any ``/rerank`` endpoint: Cohere, Jina, vLLM and compatible ones, or text-embeddings-inference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from recollect._tokenizer import replace_surrogates
from recollect.errors import InvalidInput
from recollect.models._http import Endpoint, Json

if TYPE_CHECKING:
    import httpx

Dialect = Literal["cohere", "tei"]


class EndpointReranker:
    """Scores by ``POST {base_url}/rerank``, one batch after another.

    Threads and event loops may share it.

    Args:
        model: the name of the model at the endpoint.
        base_url: for example ``https://api.jina.ai/v1`` or ``http://localhost:8000``.
        api_key: sent as a bearer token, and never shown.
        dialect: "cohere" sends model, query and documents. "tei" sends query and texts. Both kinds of answers are read.
        batch_size: the number of passages in a request. text-embeddings-inference accepts 32 by default.
        timeout: the seconds for one request with all its tries. The answer must be complete by then.
        retries: the number of further tries after a broken connection, a 429 or a 5xx, while there is time.
        max_characters: how many characters of each text are sent.
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
        dialect: Dialect = "cohere",
        batch_size: int = 32,
        timeout: float = 30.0,
        retries: int = 3,
        max_characters: int = 16_384,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if batch_size < 1 or max_characters < 1:
            raise InvalidInput("batch_size and max_characters must be at least 1")
        url = f"{base_url.rstrip('/')}/rerank"
        self._endpoint = Endpoint(url=url, api_key=api_key, timeout=timeout, retries=retries, transport=transport)
        self._model = model
        self._dialect = dialect
        self._batch_size = batch_size
        self._max_characters = max_characters

    @property
    def name(self) -> str:
        return self._model

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return one score for each passage, in the same order. Higher is better, and only the order has a meaning.

        Raises:
            ModelUnavailable: the endpoint could not be reached, or did not score every passage.
            MissingExtra: httpx is not installed.
        """
        if not passages:
            return []
        texts = [replace_surrogates(passage[: self._max_characters]) for passage in passages]
        runs = [texts[at : at + self._batch_size] for at in range(0, len(texts), self._batch_size)]
        asked = replace_surrogates(query[: self._max_characters])
        answers = await self._endpoint.post_all([self._body(asked, run) for run in runs])
        try:
            return [
                score for answer, run in zip(answers, runs, strict=True) for score in parse_scores(answer, len(run))
            ]
        except (KeyError, TypeError, ValueError) as exc:
            raise self._endpoint.failure(f"gave no usable scores: {type(exc).__name__}: {exc}") from exc

    def _body(self, query: str, texts: Sequence[str]) -> Mapping[str, Json]:
        if self._dialect == "tei":
            return {"query": query, "texts": texts}
        return {"model": self._model, "query": query, "documents": texts}


def parse_scores(answer: object, count: int) -> list[float]:
    """Return the scores of an answer in the order of the passages.

    Raises:
        ValueError, TypeError, KeyError: the answer is not a list of ``count`` finite scores, one for each passage.
    """
    results = answer.get("results") if isinstance(answer, dict) else answer
    if not isinstance(results, list):
        raise TypeError("the answer has no list of results")
    scores = {int(entry["index"]): _score(entry) for entry in results}
    if len(results) != count or scores.keys() != set(range(count)):
        raise ValueError(f"{len(scores)} scores came back for {count} passages")
    if not all(map(math.isfinite, scores.values())):
        raise ValueError("a score is no finite number")
    return [scores[index] for index in range(count)]


def _score(entry: Mapping[str, float]) -> float:
    return float(entry["relevance_score"] if "relevance_score" in entry else entry["score"])
