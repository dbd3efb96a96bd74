"""What chooses, meters and remembers, around language models."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from language_server import Said, completion, events, language_server, problem

from recollect.domain.limits import Limit, Period
from recollect.domain.usage import LedgerEntry, Usage
from recollect.errors import InvalidReply, LimitReached, MissingExtra, ModelUnavailable, NoModel
from recollect.models.language import LanguageModel, ModelRole, Prompt
from recollect.models.languages.cached import CachedModel
from recollect.models.languages.metered import LedgerModel
from recollect.models.languages.pydantic_ai import PydanticModel
from recollect.models.languages.role_models import RoleModels
from recollect.models.languages.settings import CallSettings
from recollect.models.languages.unconfigured import UnconfiguredModel
from recollect.testing.models import FunctionModel, ScriptedModel

NOW = datetime(2024, 5, 1, 13, 30, tzinfo=UTC)
PROMPT = Prompt(role=ModelRole.EXTRACT, operation="test.extract", subject="s", system="S" * 40, text="T" * 40)
ANSWER = replace(PROMPT, role=ModelRole.ANSWER, operation="test.answer")
TOKENS = 20  # of either prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    n: int
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Book:
    """A ledger in memory."""

    entries: list[LedgerEntry] = field(default_factory=list)

    async def record(self, entries: Sequence[LedgerEntry]) -> None:
        await asyncio.sleep(0)
        self.entries += entries

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage:
        await asyncio.sleep(0)
        own = [e for e in self.entries if role in (None, e.role) and (since is None or e.at >= since)]
        await asyncio.sleep(0)
        return sum((e.usage for e in own), Usage())


def metered(
    model: LanguageModel, *limits: Limit, book: Book | None = None, at: datetime = NOW
) -> tuple[LedgerModel, Book]:
    book = book or Book()
    return LedgerModel(model, book, limits=limits, clock=lambda: at), book


def costing(tokens: int) -> FunctionModel:
    """A model whose every call costs 20 tokens for the prompt and so many for the answer."""
    return FunctionModel(lambda prompt, kind: "x" * 4 * tokens)


# ---- by role


async def test_each_role_has_its_model():
    models = {ModelRole.ASSIST: FunctionModel(lambda *_: "small", name="small")}
    model: LanguageModel = RoleModels(models, FunctionModel(lambda *_: "large", name="large"))
    assert (await model.generate(PROMPT, str)).model == "large"
    assert (await model.generate(replace(PROMPT, role=ModelRole.ASSIST), str)).value == "small"
    assert [piece async for piece in model.stream(replace(PROMPT, role=ModelRole.ASSIST))] == ["small"]
    assert model.name == "large"


async def test_without_a_model_it_is_said_how_to_get_one():
    model: LanguageModel = UnconfiguredModel()
    with pytest.raises(NoModel, match=r"test.extract needs .* extract, and none is configured: set RECOLLECT_MODEL="):
        await model.generate(PROMPT, str)
    with pytest.raises(NoModel):
        [piece async for piece in model.stream(PROMPT)]
    assert model.name == "none"


# ---- metering


async def test_every_call_is_written_down():
    model, book = metered(
        RoleModels({ModelRole.ANSWER: ScriptedModel(["abcd"], name="small")}, ScriptedModel(["abcdefgh"]))
    )
    await model.generate(PROMPT, str)
    await model.generate(ANSWER, str)
    assert book.entries == [
        LedgerEntry(
            at=NOW,
            operation="test.extract",
            role="extract",
            model="scripted",
            usage=Usage(calls=1, tokens_in=TOKENS, tokens_out=2),
        ),
        LedgerEntry(
            at=NOW,
            operation="test.answer",
            role="answer",
            model="small",
            usage=Usage(calls=1, tokens_in=TOKENS, tokens_out=1),
        ),
    ]
    assert model.name == "scripted"


async def test_a_call_that_failed_is_written_down_with_its_cost():
    failed = InvalidReply("bad", "reply")
    failed.usage = Usage(calls=3, tokens_in=60, tokens_out=9)
    model, book = metered(ScriptedModel([failed, ModelUnavailable("down")]))
    with pytest.raises(InvalidReply):
        await model.generate(PROMPT, str)
    with pytest.raises(ModelUnavailable):
        await model.generate(PROMPT, str)
    assert [(entry.failed, entry.usage) for entry in book.entries] == [(True, failed.usage), (True, Usage())]


@pytest.mark.parametrize("error", [NoModel("none"), MissingExtra("x", "models")])
async def test_where_nobody_was_asked_nothing_is_written_down(error):
    model, book = metered(ScriptedModel([error, error]))
    with pytest.raises(type(error)):
        await model.generate(PROMPT, str)
    with pytest.raises(type(error)):
        [piece async for piece in model.stream(PROMPT)]
    assert book.entries == []


async def test_a_call_that_is_cancelled_is_written_down_with_what_was_sent():
    class Slow(FunctionModel):
        async def generate(self, prompt, answer_type, *, check=None):
            await asyncio.sleep(60)

    model, book = metered(Slow(lambda *_: "x"), Limit(tokens=1000))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await model.generate(PROMPT, str)
    assert [(entry.failed, entry.usage) for entry in book.entries] == [(True, Usage(calls=1, tokens_in=TOKENS))]


async def test_the_real_adapters_failures_cost_what_they_cost():
    with language_server() as server:
        server.answers = [completion("no JSON"), problem(401, "no")]
        inner = PydanticModel("openai:desk", base_url=server.url, settings=CallSettings(corrections=1))
        model, book = metered(inner)
        with pytest.raises(ModelUnavailable):
            await model.generate(PROMPT, Count)
    (entry,) = book.entries
    assert (entry.failed, entry.model, entry.usage.calls, entry.usage.tokens_in) == (True, "openai:desk", 2, 10)


# ---- limits


async def test_past_a_limit_no_call_is_made():
    inner = costing(30)
    model, book = metered(inner, Limit(tokens=100, per=Period.DAY))
    await model.generate(PROMPT, str)
    await model.generate(PROMPT, str)
    with pytest.raises(LimitReached, match="100 tokens a day: 100 are spent, and this call needs about 20") as raised:
        await model.generate(PROMPT, str)
    assert "opens again at 2024-05-02 00:00 UTC" in str(raised.value)
    assert raised.value.until == datetime(2024, 5, 2, tzinfo=UTC)
    with pytest.raises(LimitReached):
        [piece async for piece in model.stream(PROMPT)]
    assert (len(inner.prompts), len(book.entries)) == (2, 2)
    later, _ = metered(inner, Limit(tokens=100, per=Period.DAY), book=book, at=NOW + timedelta(days=1))
    await later.generate(PROMPT, str)


async def test_a_limit_in_all_never_opens_again():
    model, _ = metered(costing(1), Limit(tokens=TOKENS - 1))
    with pytest.raises(LimitReached, match="19 tokens in all") as raised:
        await model.generate(PROMPT, str)
    assert raised.value.until is None


async def test_a_roles_limit_is_its_own():
    model, _ = metered(costing(5), Limit(tokens=25, role="extract"), Limit(tokens=60))
    await model.generate(PROMPT, str)
    with pytest.raises(LimitReached, match="25 tokens in all for extract"):
        await model.generate(PROMPT, str)
    await model.generate(ANSWER, str)
    with pytest.raises(LimitReached, match="60 tokens in all:"):
        await model.generate(ANSWER, str)


async def test_calls_under_way_count():
    gate = asyncio.Event()

    class Waiting(FunctionModel):
        async def generate(self, prompt, answer_type, *, check=None):
            await gate.wait()
            return await super().generate(prompt, answer_type, check=check)

    inner = Waiting(lambda *_: "")
    model, book = metered(inner, Limit(tokens=5 * TOKENS))
    calls = [asyncio.create_task(model.generate(PROMPT, str)) for _ in range(12)]
    for refused in islice(asyncio.as_completed(calls), 7):
        with pytest.raises(LimitReached):
            await refused
    gate.set()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(one, LimitReached) for one in ended) == 7
    assert (len(inner.prompts), len(book.entries)) == (5, 5)
    assert await book.spent() == Usage(calls=5, tokens_in=5 * TOKENS)
    with pytest.raises(LimitReached):
        await model.generate(PROMPT, str)


async def test_a_call_that_ended_no_longer_counts_as_under_way():
    model, _ = metered(
        ScriptedModel([ModelUnavailable("down"), "", ModelUnavailable("down")]), Limit(tokens=2 * TOKENS)
    )
    with pytest.raises(ModelUnavailable):
        await model.generate(PROMPT, str)
    await model.generate(PROMPT, str)
    with pytest.raises(ModelUnavailable):
        await model.generate(PROMPT, str)


async def test_what_holds_up_a_role_is_told_without_a_call():
    model, _ = metered(costing(5), Limit(tokens=25, role="extract", per=Period.DAY))
    assert await model.find_reached_limit(ModelRole.EXTRACT) is None
    await model.generate(PROMPT, str)
    held = await model.find_reached_limit(ModelRole.EXTRACT)
    assert held is not None
    assert held.until == datetime(2024, 5, 2, tzinfo=UTC)
    assert await model.find_reached_limit(ModelRole.ANSWER) is None


@dataclass(slots=True)
class Patchy:
    """The real adapter before a server that answers nothing in time, or nothing that can be used."""

    inner: PydanticModel
    book: Book

    def limited(self, *limits: Limit) -> LedgerModel:
        return metered(self.inner, *limits, book=self.book)[0]


@pytest.fixture
def server():
    with language_server() as running:
        yield running


def patchy(server, **settings) -> Patchy:
    call = CallSettings(pause=0.0, **settings)
    return Patchy(PydanticModel("openai:desk", base_url=server.url, settings=call), Book())


async def test_what_was_never_answered_counts_against_a_limit(server):
    server.answers = [Said(before=server.hang)]
    made = patchy(server, timeout=0.1, retries=1)
    with pytest.raises(ModelUnavailable):
        await made.limited(Limit(tokens=1000)).generate(PROMPT, str)
    assert [(entry.failed, entry.usage.calls, entry.usage.tokens_in) for entry in made.book.entries] == [(True, 2, 40)]
    with pytest.raises(LimitReached, match="40 are spent"):
        await made.limited(Limit(tokens=50)).generate(PROMPT, str)


async def test_a_retry_past_a_limit_is_not_sent(server):
    server.answers = [Said(before=server.hang)]
    made = patchy(server, timeout=0.1, retries=3)
    with pytest.raises(LimitReached, match="40 are spent, and this call needs about 20"):
        await made.limited(Limit(tokens=50)).generate(PROMPT, str)
    assert len(server.requests) == 2
    assert [(entry.failed, entry.usage.calls, entry.usage.tokens_in) for entry in made.book.entries] == [(True, 2, 40)]


async def test_a_correction_past_a_limit_is_not_sent(server):
    server.answers = [completion("no JSON", usage={"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100})]
    made = patchy(server, corrections=5)
    with pytest.raises(LimitReached, match="200 are spent"):
        await made.limited(Limit(tokens=250, role="extract")).generate(PROMPT, Count)
    assert len(server.requests) == 2
    assert [entry.usage.calls for entry in made.book.entries] == [2]
    spent = await made.book.spent()
    assert (spent.tokens_in, spent.tokens_out) == (120, 80)


async def test_a_streams_retry_past_a_limit_is_not_sent(server, tmp_path):
    server.answers = [problem(503, "later")]
    for wrapped in (
        lambda model: model,
        lambda model: CachedModel(model, tmp_path),
        lambda model: RoleModels({}, model),
    ):
        server.requests.clear()
        made = patchy(server)
        model, book = metered(wrapped(made.inner), Limit(tokens=50))
        with pytest.raises(LimitReached):
            [piece async for piece in model.stream(PROMPT)]
        assert len(server.requests) == 2
        assert (await book.spent()).tokens_in == 40


async def test_a_first_request_that_is_too_long_is_no_call(server):
    """The schema in the prompt is more than the call was let through with."""
    server.answers = [completion("x")]
    made = patchy(server, structured="prompted")
    model = made.limited(Limit(tokens=30))
    with pytest.raises(LimitReached, match="0 are spent"):
        await model.generate(PROMPT, Count)
    assert (server.requests, made.book.entries) == ([], [])
    assert (await model.generate(PROMPT, str)).value == "x"


async def test_a_call_that_is_cancelled_costs_all_its_requests(server):
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def answer(_: dict) -> Said:
        if len(server.requests) < 2:
            return problem(503, "later")
        loop.call_soon_threadsafe(asked.set)
        return Said(before=server.hang)

    server.answer = answer
    made = patchy(server)
    call = asyncio.create_task(made.limited(Limit(tokens=1000)).generate(PROMPT, str))
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [(entry.failed, entry.usage.calls) for entry in made.book.entries] == [(True, 2)]
    assert (await made.book.spent()).tokens_in == 40


async def test_what_a_call_has_cost_counts_for_others_while_it_goes_on(server):
    asked, gate = asyncio.Event(), asyncio.Event()

    async def nap(_: float) -> None:
        asked.set()
        await gate.wait()

    server.answers = [problem(503, "later"), completion("x")]
    halting = PydanticModel("openai:desk", base_url=server.url, settings=CallSettings(retries=1), sleep=nap)
    model, _ = metered(halting, Limit(tokens=70))
    going = asyncio.create_task(model.generate(PROMPT, str))
    await asked.wait()  # its first request is paid for and not written down yet, and its second is to come
    with pytest.raises(LimitReached, match="40 are spent"):
        await model.generate(replace(PROMPT, text="T" * 100), str)
    gate.set()
    assert (await going).value == "x"


# ---- streams


async def test_a_stream_is_written_down_with_what_the_server_counted():
    with language_server() as server:
        server.answers = [events(["a ", "b"])]
        model, book = metered(RoleModels({}, PydanticModel("openai:desk", base_url=server.url)))
        assert [piece async for piece in model.stream(PROMPT)] == ["a ", "b"]
    (entry,) = book.entries
    assert (entry.usage.calls, entry.usage.tokens_in, entry.usage.tokens_out) == (1, 7, 3)
    assert not entry.failed


async def test_a_stream_that_nobody_counted_is_estimated():
    model, book = metered(ScriptedModel(["abcd efgh"]))
    assert [piece async for piece in model.stream(PROMPT)] == ["abcd ", "efgh"]
    assert book.entries[0].usage == Usage(calls=1, tokens_in=TOKENS, tokens_out=3)


async def test_a_stream_that_is_left_is_written_down():
    model, book = metered(ScriptedModel(["abcd efgh ijkl"]))
    pieces = model.stream(PROMPT)
    await anext(pieces)
    await pieces.aclose()
    (entry,) = book.entries
    assert (entry.failed, entry.usage) == (False, Usage(calls=1, tokens_in=TOKENS, tokens_out=2))


# ---- the cache


async def test_the_same_request_is_answered_once(tmp_path):
    inner = ScriptedModel([Count(n=1, names=("é", "b")), Count(n=2), "x", Count(n=3)])
    model: LanguageModel = CachedModel(inner, tmp_path / "replies")
    first = await model.generate(PROMPT, Count)
    again = await model.generate(replace(ANSWER, subject="other"), Count)
    assert again.value == first.value == Count(n=1, names=("é", "b"))
    assert (first.usage.calls, again.usage, again.model) == (1, Usage(), "scripted")
    assert (await model.generate(replace(PROMPT, text="other"), Count)).value == Count(n=2)
    assert (await model.generate(PROMPT, str)).value == "x"
    assert (await CachedModel(inner, tmp_path / "replies", variant="warm").generate(PROMPT, Count)).value == Count(n=3)
    assert inner.replies_left == 0
    assert (await CachedModel(ScriptedModel([]), tmp_path / "replies").generate(PROMPT, Count)).value == Count(
        n=1, names=("é", "b")
    )


async def test_a_kept_answer_that_does_not_pass_is_asked_for_anew(tmp_path):
    def check(value: Count) -> None:
        if value.n < 2:
            raise ValueError("too few")

    model = CachedModel(ScriptedModel([Count(n=1), Count(n=2)]), tmp_path)
    await model.generate(PROMPT, Count)
    assert (await model.generate(PROMPT, Count, check=check)).value == Count(n=2)
    assert (await model.generate(PROMPT, Count)).value == Count(n=2)


async def test_a_damaged_file_is_asked_for_anew(tmp_path):
    model = CachedModel(ScriptedModel([Count(n=1), Count(n=2), Count(n=3)]), tmp_path)
    await model.generate(PROMPT, Count)
    (kept,) = tmp_path.rglob("*.txt")
    for n, damage in enumerate([b'{"n": "1"}', b"\xff\xfe"], start=2):
        kept.write_bytes(damage)
        assert (await model.generate(PROMPT, Count)).value == Count(n=n)
        assert (await model.generate(PROMPT, Count)).value == Count(n=n)


async def test_a_failure_is_not_kept(tmp_path):
    model = CachedModel(ScriptedModel([ModelUnavailable("down"), ModelUnavailable("down"), "x"]), tmp_path / "replies")
    with pytest.raises(ModelUnavailable):
        await model.generate(PROMPT, str)
    with pytest.raises(ModelUnavailable):
        [piece async for piece in model.stream(PROMPT)]
    assert not (tmp_path / "replies").exists()
    assert (await model.generate(PROMPT, str)).value == "x"


async def test_what_is_kept_is_for_its_owners_eyes(tmp_path):
    await CachedModel(ScriptedModel(["x"]), tmp_path / "replies").generate(PROMPT, str)
    kept = list((tmp_path / "replies").rglob("*"))
    assert [path.suffix for path in kept if path.is_file()] == [".txt"]
    for path in [tmp_path / "replies", *kept]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


async def test_a_stream_is_kept_once_it_is_whole(tmp_path):
    inner = ScriptedModel(["a b c", "d e\r\nf"])
    model, book = metered(CachedModel(inner, tmp_path))
    left = model.stream(PROMPT)
    await anext(left)
    await left.aclose()
    assert [piece async for piece in model.stream(PROMPT)] == ["d ", "e\r\n", "f"]
    assert [piece async for piece in model.stream(PROMPT)] == ["d e\r\nf"]
    assert [entry.usage.calls for entry in book.entries] == [1, 1]


async def test_a_kept_reply_is_no_call(tmp_path):
    model, book = metered(CachedModel(ScriptedModel(["x"]), tmp_path))
    await model.generate(PROMPT, str)
    await model.generate(PROMPT, str)
    assert len(book.entries) == 1
