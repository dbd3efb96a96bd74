"""What stays the same from call to call: where it stands, who is told where it ends, and what of it was kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from language_server import LanguageServer, Said, completion, events, language_server
from test_languages_wrappers import Book, Count, metered

from recollect.domain.limits import Limit
from recollect.errors import LimitReached
from recollect.models.language import ModelRole, Prompt
from recollect.models.languages._providers import accepts_cache_marks
from recollect.models.languages._request import ModelRequest, estimate_request_tokens
from recollect.models.languages.cached import CachedModel
from recollect.models.languages.pydantic_ai import PydanticModel
from recollect.models.languages.settings import CallSettings
from recollect.testing.models import FunctionModel

SEGMENT = "Ada: I adopted Toby last Thursday.\n" * 8
PROMPT = Prompt(
    role=ModelRole.ASSIST, operation="test.ask", subject="q", system="Answer.", prefix=SEGMENT, text="When was that?"
)
WHOLE = replace(PROMPT, prefix="", text=SEGMENT + "When was that?")


@pytest.fixture
def server() -> Iterator[LanguageServer]:
    with language_server() as running:
        yield running


def model_at(server: LanguageServer, *answers: Said, **settings: object) -> PydanticModel:
    server.answers = list(answers)
    return PydanticModel("openai:desk", base_url=server.url, api_key="k", settings=CallSettings(**settings))


def test_what_is_asked_is_the_prefix_and_the_text():
    assert PROMPT.full_text == WHOLE.full_text == SEGMENT + "When was that?"
    assert replace(PROMPT, prefix="").full_text == "When was that?"


async def test_for_a_server_it_stands_first_and_changes_nothing_else(server):
    model = model_at(server, completion("in July"))
    for prompt in (PROMPT, WHOLE):
        assert (await model.generate(prompt, str)).value == "in July"
    assert [piece async for piece in _streamed(server, model, PROMPT)]
    one, other, streamed = server.requests
    assert server.raw[0] == server.raw[1]
    assert one == other
    assert streamed["messages"] == one["messages"]
    assert one["messages"][1] == {"role": "user", "content": SEGMENT + "When was that?"}


def _streamed(server, model, prompt):
    server.answers = [events(["in", " July"])]
    return model.stream(prompt)


async def test_a_correction_leaves_it_where_it_is(server):
    model = model_at(server, completion("three"), completion('{"n": 3, "names": []}'))
    await model.generate(PROMPT, Count)
    first, second = server.requests
    assert second["messages"][:2] == first["messages"]
    assert len(second["messages"]) == 4


async def test_tokens_that_a_server_had_kept_reach_the_ledger(server):
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 5,
        "total_tokens": 1005,
        "prompt_tokens_details": {"cached_tokens": 896},
    }
    model, book = metered(model_at(server, completion("in July", usage=usage)))
    reply = await model.generate(PROMPT, str)
    assert (reply.usage.tokens_in, reply.usage.tokens_cached) == (1000, 896)
    assert book.entries[0].usage == reply.usage


# ---- providers that are told where it ends


def test_a_mark_stands_between_the_prefix_and_the_text():
    from pydantic_ai.messages import CachePoint, UserPromptPart

    def contents(prompt: Prompt, *, marked: bool) -> list[object]:
        (request,) = ModelRequest(prompt, str).messages(prompted=False, marked=marked)
        return [part.content for part in request.parts if isinstance(part, UserPromptPart)]

    assert contents(PROMPT, marked=True) == [[SEGMENT, CachePoint(), "When was that?"]]
    assert contents(PROMPT, marked=False) == contents(WHOLE, marked=True) == [SEGMENT + "When was that?"]
    assert contents(replace(PROMPT, text=""), marked=True) == [SEGMENT]


def test_a_mark_is_no_token():
    requests = [ModelRequest(PROMPT, str).messages(prompted=False, marked=marked) for marked in (True, False)]
    assert estimate_request_tokens(requests[0]) == estimate_request_tokens(requests[1])


@pytest.mark.parametrize(
    ("system", "profile", "marked"),
    [
        ("anthropic", {}, True),
        ("bedrock", {"bedrock_supports_prompt_caching": True}, True),
        ("bedrock", {"bedrock_supports_prompt_caching": False}, False),
        ("openrouter", {"openrouter_supports_cache_control": True}, True),
        ("openai", {"openai_supports_prompt_cache_breakpoints": True}, True),
        ("openai", {}, False),
        ("google", {"supports_cache": True}, False),
    ],
)
def test_who_is_told_where_it_ends(system, profile, marked):
    assert accepts_cache_marks(SimpleNamespace(system=system, profile=profile)) is marked


MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {
        "input_tokens": 12,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 2048,
        "output_tokens": 1,
    },
}


def anthropic(text: str) -> Said:
    """A message as Anthropic streams it."""
    told = [
        {"type": "message_start", "message": MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in told]
    return Said(body="".join(lines).encode(), kind="text/event-stream")


async def test_anthropic_is_told_where_it_ends_and_says_what_it_had_kept(server):
    pytest.importorskip("anthropic")
    server.answers = [anthropic("in July")]
    url = server.url.removesuffix("/v1")
    model, book = metered(PydanticModel("anthropic:claude-haiku-4-5", base_url=url, api_key="k"))
    reply = await model.generate(PROMPT, str)
    assert reply.value == "in July"
    (body,) = server.requests
    (message,) = body["messages"]
    segment, question = message["content"]
    assert (segment["text"], segment["cache_control"]["type"]) == (SEGMENT, "ephemeral")
    assert question == {"type": "text", "text": "When was that?"}
    assert (reply.usage.tokens_in, reply.usage.tokens_cached) == (2060, 2048)
    assert book.entries[0].usage.tokens_cached == 2048
    await model.generate(replace(PROMPT, prefix=""), str)
    assert "cache_control" not in json.dumps(server.requests[1])


# ---- what surrounds a model


async def test_a_kept_reply_is_that_of_the_prefix_too(tmp_path):
    model = FunctionModel(lambda prompt, _: f"reply {len(prompt.prefix)}")
    cached = CachedModel(model, tmp_path)
    first = (await cached.generate(PROMPT, str)).value
    assert (await cached.generate(replace(PROMPT, prefix="Bram: no."), str)).value != first
    assert (await cached.generate(PROMPT, str)).value == first
    assert len(model.prompts) == 2


async def test_a_limit_counts_the_prefix_before_the_call():
    limit = Limit(tokens=40)
    model, book = metered(FunctionModel(lambda *_: "x"), limit, book=Book())
    with pytest.raises(LimitReached):
        await model.generate(PROMPT, str)
    await model.generate(replace(PROMPT, prefix=""), str)
    assert len(book.entries) == 1


async def test_notes_of_a_reply_pass_the_meter():
    class Noting(FunctionModel):
        async def generate(self, prompt, answer_type, *, check=None):
            return replace(await super().generate(prompt, answer_type, check=check), notes=("read anew",))

    model, _ = metered(Noting(lambda *_: "x"))
    assert (await model.generate(PROMPT, str)).notes == ("read anew",)
