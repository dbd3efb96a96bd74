"""The endpoint adapters, against a server made of httpx.MockTransport."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import numpy as np
import pytest

from recollect.errors import InvalidInput, MissingExtra, ModelUnavailable
from recollect.models._http import Endpoint, compute_pause
from recollect.models.embedder import Embedder
from recollect.models.embedders.endpoint import EndpointEmbedder, parse_vectors
from recollect.models.reranker import Reranker
from recollect.models.rerankers.endpoint import EndpointReranker, parse_scores
from recollect.testing.embedder_contract import EmbedderContract
from recollect.testing.models import split_words
from recollect.testing.reranker_contract import RerankerContract

KEY = "sk-secret-key-1234567890"
URL = "https://models.example/v1"
Handler = Callable[[httpx.Request], httpx.Response]


def vector(text: str) -> list[float]:
    """Unnormalised on purpose."""
    row = [0.0] * 32
    for word in split_words(text) or ["?"]:
        row[zlib.crc32(word.encode()) % 32] += 3.0
    return row


def embeddings(request: httpx.Request) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    assert all(text.strip() for text in texts), "OpenAI refuses empty texts"
    data = [{"object": "embedding", "index": index, "embedding": vector(text)} for index, text in enumerate(texts)]
    return httpx.Response(200, json={"data": data[::-1], "model": "m"})


def rerank(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    asked = set(split_words(body["query"]))
    key, texts = ("score", body["texts"]) if "texts" in body else ("relevance_score", body["documents"])
    results = [{"index": index, key: float(len(asked & set(split_words(text))))} for index, text in enumerate(texts)]
    results.sort(key=lambda result: -result[key])
    return httpx.Response(200, json=results if "texts" in body else {"results": results})


def embedder(handler: Handler = embeddings, **settings: object) -> EndpointEmbedder:
    transport = httpx.MockTransport(handler)
    return EndpointEmbedder("m", URL, KEY, transport=transport, **settings)  # type: ignore[arg-type]


def reranker(handler: Handler = rerank, **settings: object) -> EndpointReranker:
    return EndpointReranker("r", URL, KEY, transport=httpx.MockTransport(handler), **settings)  # type: ignore[arg-type]


def answering(*responses: httpx.Response | Exception, then: Handler = embeddings) -> Handler:
    """A server that gives these answers first."""
    left = list(responses)

    def handle(request: httpx.Request) -> httpx.Response:
        if not left:
            return then(request)
        response = left.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    return handle


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No test waits: a pause is noted."""
    noted: list[float] = []

    async def pause(self: Endpoint, seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(Endpoint, "_pause", pause)
    return noted


class TestEmbedderContract(EmbedderContract):
    @pytest.fixture(params=[3, 64])
    def embedder(self, request: pytest.FixtureRequest) -> Embedder:
        return asyncio.run(embedder(batch_size=request.param).connect())


class TestRerankerContract(RerankerContract):
    @pytest.fixture(params=["cohere", "tei"])
    def reranker(self, request: pytest.FixtureRequest) -> Reranker:
        return reranker(dialect=request.param)


async def test_texts_go_in_batches_and_come_back_in_order() -> None:
    sizes: list[int] = []

    def handle(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        assert str(request.url) == f"{URL}/embeddings"
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert body["model"] == "m"
        sizes.append(len(body["input"]))
        return embeddings(request)

    texts = [f"text number {number}" for number in range(10)]
    found = await embedder(handle, dimension=32, batch_size=4).embed(texts)
    assert sizes == [4, 4, 2]
    plain = np.array([vector(text) for text in texts])
    np.testing.assert_allclose(found, plain / np.linalg.norm(plain, axis=1, keepdims=True), atol=1e-6)


async def test_the_dimension_is_learnt_or_given() -> None:
    unknown = embedder()
    with pytest.raises(ModelUnavailable, match="connect"):
        _ = unknown.dimension
    assert (await unknown.connect()).dimension == 32
    assert embedder(dimension=32).dimension == 32
    assert (await embedder().embed([""])).shape == (1, 32)


async def test_another_dimension_than_the_known_one_is_told() -> None:
    with pytest.raises(ModelUnavailable, match="32 numbers instead of 99"):
        await embedder(dimension=99).embed(["hello"])


async def test_prompts_and_the_character_limit_are_kept() -> None:
    seen: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.extend(json.loads(request.content)["input"])
        return embeddings(request)

    prompted = embedder(handle, dimension=32, query_prompt="query: ", document_prompt="passage: ", max_characters=5)
    await prompted.embed(["where is Toby"], purpose="query")
    await prompted.embed(["Toby is here"])
    assert seen == ["query: where", "passage: Toby "]
    assert "passage: " in prompted.name
    assert embedder().name == "m"


@pytest.mark.parametrize(
    "failure",
    [httpx.Response(429), httpx.Response(503), httpx.ReadTimeout("slow"), httpx.ConnectError("refused")],
    ids=["429", "503", "timeout", "refused"],
)
async def test_what_may_pass_is_tried_again(failure: httpx.Response | Exception, pauses: list[float]) -> None:
    found = await embedder(answering(failure, failure), dimension=32).embed(["hello"])
    assert found.shape == (1, 32)
    assert pauses == [0.5, 1.0]


async def test_retry_after_is_honoured_and_bounded(pauses: list[float]) -> None:
    told = [httpx.Response(429, headers={"Retry-After": seconds}) for seconds in ("0", "7", "86400")]
    await embedder(answering(*told), dimension=32, timeout=60.0).embed(["hello"])
    assert pauses == [0.0, 7.0, 30.0]


async def test_a_pause_beyond_the_time_of_the_call_is_not_begun(pauses: list[float]) -> None:
    told = [httpx.Response(429, text="slow down", headers={"Retry-After": "31"})]
    with pytest.raises(ModelUnavailable, match="answered 429: slow down"):
        await embedder(answering(*told), dimension=32, timeout=20.0).embed(["hello"])
    assert pauses == []


class Drip(httpx.AsyncByteStream):
    """An answer that comes byte by byte and never ends."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", ["embedder", "reranker"])
async def test_an_answer_that_drips_ends_with_the_time_of_the_call(kind: str) -> None:
    """Every byte comes in time, and the answer never does."""
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, stream=Drip())

    if kind == "embedder":
        call: Coroutine[Any, Any, object] = embedder(handle, dimension=32, timeout=0.05, retries=1).embed(["hello"])
    else:
        call = reranker(handle, timeout=0.05, retries=1).score("hello", ["world"])
    with pytest.raises(ModelUnavailable, match=r"did not answer in 0\.05 s"):
        await call
    assert len(asked) == 1


async def test_retries_end() -> None:
    with pytest.raises(ModelUnavailable, match="answered 503: busy"):
        await embedder(lambda request: httpx.Response(503, text="busy"), retries=2).connect()
    with pytest.raises(ModelUnavailable, match="ConnectError refused") as caught:
        await embedder(answering(*[httpx.ConnectError("refused")] * 4)).connect()
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


async def test_a_refusal_is_not_tried_again(pauses: list[float]) -> None:
    with pytest.raises(ModelUnavailable, match=r"https://models\.example/v1/embeddings answered 401"):
        await embedder(lambda request: httpx.Response(401, text="no")).connect()
    assert pauses == []


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(401, text=f"Incorrect API key provided: {KEY}"),
        httpx.Response(200, text=f"<html>{KEY}</html>"),
        httpx.Response(200, json={"data": [{"index": 0, "embedding": [KEY]}]}),
        httpx.Response(200, json={"data": [{"index": KEY, "embedding": [1.0]}]}),
        httpx.ConnectError(f"cannot connect with {KEY}"),
        httpx.TooManyRedirects(f"to {KEY}"),
    ],
    ids=["quoted", "html", "vector", "index", "connection", "redirects"],
)
async def test_the_key_is_never_shown(answer: httpx.Response | Exception) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await embedder(answering(answer), retries=0).connect()
    assert KEY not in str(caught.value)
    with pytest.raises(ModelUnavailable) as caught:
        await reranker(answering(answer), retries=0).score("q", ["p"])
    assert KEY not in str(caught.value)


def test_no_repr_shows_the_key() -> None:
    assert KEY not in repr(embedder()) + repr(reranker()) + repr(vars(embedder())) + repr(vars(reranker()))


def test_what_the_address_carries_is_not_shown() -> None:
    async def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(403, text="no")

    endpoint = Endpoint(url="https://ada:pass@models.example/v1?token=abc", transport=httpx.MockTransport(refuse))
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(endpoint.post_all([{}]))
    assert str(caught.value) == "https://models.example/v1 answered 403: no"


def test_addresses_keys_and_numbers_are_checked() -> None:
    with pytest.raises(InvalidInput, match="http://"):
        EndpointEmbedder("m", "models.example")
    with pytest.raises(InvalidInput, match="line end") as caught:
        EndpointReranker("m", URL, f"{KEY}\n")
    assert KEY not in str(caught.value)
    with pytest.raises(InvalidInput):
        embedder(batch_size=0)
    with pytest.raises(InvalidInput):
        reranker(max_characters=0)


async def test_httpx_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = embedder()
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"recollect\[endpoints\]"):
        await asked.connect()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"error": "no"},
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("nan")]}]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]},
        {"data": [None, None]},
    ],
)
def test_unusable_vectors_are_refused(answer: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        parse_vectors(answer, 2)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"error": "no"},
        [{"index": 0, "score": 1.0}],
        [{"index": 0, "score": 1.0}, {"index": 0, "score": 1.0}],
        [{"index": 0, "score": 1.0}, {"index": 2, "score": 1.0}],
        [{"index": 0, "score": 1.0}, {"index": 1, "score": float("inf")}],
        [{"index": 0, "score": 1.0}, {"index": 1}],
        {"results": [{"index": 0, "relevance_score": None}, {"index": 1, "relevance_score": 1.0}]},
    ],
)
def test_unusable_scores_are_refused(answer: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        parse_scores(answer, 2)


async def test_passages_go_in_batches() -> None:
    sizes: list[int] = []

    def handle(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == f"{URL}/rerank"
        sizes.append(len(json.loads(request.content)["documents"]))
        return rerank(request)

    scores = await reranker(handle, batch_size=2).score("a b c", ["a", "a b", "x", "a b c", "b"])
    assert sizes == [2, 2, 1]
    assert scores == [1.0, 2.0, 0.0, 3.0, 1.0]


def test_pauses_double_up_to_a_bound() -> None:
    now = datetime(2024, 5, 1, tzinfo=UTC)
    assert [compute_pause(attempt, None, now=now) for attempt in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert compute_pause(0, format_datetime(now + timedelta(seconds=5), usegmt=True), now=now) == 5.0
    assert compute_pause(0, format_datetime(now - timedelta(seconds=5), usegmt=True), now=now) == 0.0
    assert compute_pause(1, "soon", now=now) == 1.0
