"""Fakes for the interfaces of models. They are deterministic, fast, and the same in every process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache
from typing import TypeVar, cast, get_origin

import numpy as np

from recollect.domain.usage import Usage
from recollect.errors import InvalidReply
from recollect.models.embedder import Purpose, Vectors
from recollect.models.embedders.vectors import normalize_rows
from recollect.models.language import Prompt, Reply, ReplyCheck

T = TypeVar("T")

CHARACTERS_PER_TOKEN = 4
_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Embeds texts by hashing their words into signed buckets, so that texts that share words are near each other.

    Args:
        dimension: the length of the vectors.
    """

    def __init__(self, dimension: int = 64) -> None:
        self._dimension = dimension

    @property
    def name(self) -> str:
        return f"hash-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts: float32 of shape ``(len(texts), dimension)``.

        A row has length 1, or is all 0 for a text without words.
        """
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in split_words(text):
                for bucket, sign in _buckets(word, self._dimension):
                    row[bucket] += sign
        return normalize_rows(vectors)


@lru_cache(maxsize=65_536)
def _buckets(word: str, dimension: int) -> tuple[tuple[int, int], ...]:
    """Return three signed buckets of a word. Their number is odd, so that they never cancel each other out."""
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=12).digest()
    numbers = (int.from_bytes(digest[at : at + 4], "big") for at in (0, 4, 8))
    return tuple(((number >> 1) % dimension, 1 if number & 1 else -1) for number in numbers)


class OverlapReranker:
    """Scores a passage by the share of the query's words that it contains: 0 to 1."""

    @property
    def name(self) -> str:
        return "overlap"

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return one score for each passage, in their order. All scores are 0 if the query has no words."""
        asked = set(split_words(query))
        return [len(asked & set(split_words(passage))) / max(len(asked), 1) for passage in passages]


class FunctionModel:
    """A language model that is a function: ``answer(prompt, answer_type)`` returns the value.

    The function may raise any error that a model may raise. ``prompts`` are the prompts so far, in order, and ``usage``
    is their total usage.
    """

    def __init__(self, answer: Callable[[Prompt, type[object]], object], *, name: str = "function") -> None:
        self._answer = answer
        self._name = name
        self.prompts: list[Prompt] = []
        self.usage = Usage()

    @property
    def name(self) -> str:
        return self._name

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Return the function's value, with tokens counted as a quarter of the characters.

        Raises:
            InvalidReply: the value does not pass the check.
            AssertionError: the value is not of ``answer_type``. Then the test is wrong, not the model.
        """
        self.prompts.append(prompt)
        value = self._answer(prompt, answer_type)
        kind = get_origin(answer_type) or answer_type
        if isinstance(kind, type) and not isinstance(value, kind):
            raise AssertionError(
                f"{self._name} was asked for {answer_type} and gave {value!r}; the prompt: {prompt.text[:200]}"
            )
        usage = Usage(calls=1, tokens_in=_tokens(prompt.system + prompt.full_text), tokens_out=_tokens(str(value)))
        self.usage += usage
        _run_check(check, cast(T, value))
        return Reply(value=cast(T, value), usage=usage, model=self._name)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Yield the function's text, word by word."""
        reply = await self.generate(prompt, str)
        for piece in re.findall(r"\S+\s*", reply.value):
            yield piece


class ScriptedModel(FunctionModel):
    """A language model that returns the replies of a list, one for each call. A reply that is an exception is raised.

    ``generate`` raises AssertionError if a reply has another type than asked for, and for a call past the end of the
    list.
    """

    def __init__(self, replies: Sequence[object], *, name: str = "scripted") -> None:
        super().__init__(self._next, name=name)
        self._replies = tuple(replies)

    @property
    def replies_left(self) -> int:
        """Return the number of replies that have not been returned yet."""
        return max(len(self._replies) - len(self.prompts), 0)

    def _next(self, prompt: Prompt, answer_type: type[object]) -> object:
        call = len(self.prompts)
        if call > len(self._replies):
            raise AssertionError(
                f"{self.name} has {len(self._replies)} replies; this is call {call}: {prompt.text[:200]}"
            )
        reply = self._replies[call - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


def _run_check(check: ReplyCheck[T] | None, value: T) -> None:
    """Raise InvalidReply if the value does not pass the check."""
    if check is None:
        return
    try:
        check(value)
    except ValueError as exc:
        raise InvalidReply(str(exc), repr(value)) from exc


def split_words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return _WORD.findall(text.lower())


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
