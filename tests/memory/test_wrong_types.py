"""Whatever a caller gives, the library raises an error of its own tree or takes it; a bank stays as it was."""

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from recollect import Fact, Memory, Message
from recollect.domain.banks import Profile
from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput, RecollectError
from recollect.testing.models import HashEmbedder

NOW = datetime(2024, 5, 1, tzinfo=UTC)
NESTED: list = []
for _ in range(100_000):
    NESTED = [NESTED]


class _Hostile:
    def __repr__(self):
        raise RuntimeError("no repr")


WRONG = [
    None, True, 0, -1, 1.5, 10**30, math.nan, math.inf, -math.inf, "", "\0", "x\0y", "\ud83d", "x" * 10_000, b"bytes",
    [], ["\ud83d"], [None], [1], (), {}, {"a": 1}, object, _Hostile(), NESTED, NOW, NOW.replace(tzinfo=None),
    NOW.date(),    Interval(start=NOW, end=None, precision=Precision.DAY), Message(text="hi"), lambda: None, 1j,
]  # fmt: skip

CALLS = {
    "retain": ("messages", "session", "wait", "timeout"),
    "add_facts": ("facts", "timeout"),
    "recall": ("text", "limit", "max_tokens", "effort", "kinds", "sessions", "speakers", "during", "as_of", "exclude",
               "now"),
    "ask": ("question", "recipe", "limit", "during", "as_of", "now", "kinds"),
    "forget": ("messages", "session", "speaker", "entity", "during", "facts"),
    "undo_merge": ("merge",),
    "import_": ("lines",),
    "items": ("entity",),
    "messages": ("ids",),
    "messages_of": ("sessions",),
    "retry_job": ("job",),
    "drop_job": ("job",),
}  # fmt: skip
NEEDED = {"recall": {"text": "hi"}, "ask": {"question": "hi"}, "retain": {"messages": []}, "add_facts": {"facts": []}}
FIELDS = {
    Message: ({"text": "hi"}, ("text", "speaker", "role", "at", "id", "captions", "important")),
    Fact: (
        {"subject": "a", "predicate": "b", "object": "c"},
        ("subject", "predicate", "object", "occurred", "mentioned", "sources", "text", "id"),
    ),
    Interval: ({"start": NOW, "end": None, "precision": Precision.DAY}, ("start", "end", "precision")),
}


@pytest.mark.parametrize(("method", "argument"), [(name, one) for name, names in CALLS.items() for one in names])
async def test_a_bank_takes_it_or_raises_an_error_of_the_tree(method, argument):
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        for value in WRONG:
            given = {**NEEDED.get(method, {}), argument: value}
            try:
                await getattr(bank, method)(**given)
            except RecollectError as exc:
                assert len(str(exc)) < 20_000  # noqa: PT017
        assert (await bank.retain(Message(text="hello"))).messages


@pytest.mark.parametrize("method", ["bank", "info", "drop", "rebuild"])
async def test_a_memory_takes_it_or_raises_an_error_of_the_tree(method):
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        for value in WRONG:
            with_error = getattr(memory, method)
            try:
                await with_error(value)
            except RecollectError as exc:
                assert str(exc)  # noqa: PT017


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, (_, fields) in FIELDS.items() for field in fields])
async def test_what_is_given_is_checked_when_it_is_made(kind, field):
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        for value in WRONG:
            try:
                made = kind(**{**FIELDS[kind][0], field: value})
                if kind is Message:
                    await bank.retain(made)
                elif kind is Fact:
                    await bank.add_facts(made)
            except RecollectError as exc:
                assert str(exc)  # noqa: PT017


@pytest.mark.parametrize("given", ["hello", b"hello", ["hello"], [None], 5, [{"text": "hello"}]])
async def test_what_is_no_message_is_named(given):
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        with pytest.raises(InvalidInput, match="messages"):
            await bank.retain(given)
        with pytest.raises(InvalidInput, match="facts"):
            await bank.add_facts(given)


def test_a_profile_is_checked_too():
    async def main():
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            bank = await memory.bank("b")
            for value in WRONG:
                try:
                    await bank.set_profile(value)
                except RecollectError:
                    continue
            await bank.set_profile(Profile(name="Ada"))
            assert isinstance(bank.export(), AsyncIterator)

    asyncio.run(main())
