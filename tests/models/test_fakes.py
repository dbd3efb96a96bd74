from __future__ import annotations

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from recollect.domain.usage import Usage
from recollect.errors import InvalidReply, ModelUnavailable
from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel, ModelRole, Prompt
from recollect.models.reranker import Reranker
from recollect.testing.embedder_contract import EmbedderContract
from recollect.testing.models import FunctionModel, HashEmbedder, OverlapReranker, ScriptedModel
from recollect.testing.reranker_contract import RerankerContract


def asked(text: str) -> Prompt:
    return Prompt(role=ModelRole.ANSWER, operation="test", subject="test", system="", text=text)


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestOverlapReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return OverlapReranker()


def test_hashed_vectors_are_the_same_in_every_process() -> None:
    program = (
        "import asyncio; from recollect.testing.models import HashEmbedder;"
        "print(asyncio.run(HashEmbedder(8).embed(['Ada adopted Toby'])).tobytes().hex())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    here = asyncio.run(HashEmbedder(8).embed(["Ada adopted Toby"]))
    assert ran.stdout.strip() == here.tobytes().hex()


async def test_a_single_word_never_cancels_itself_out() -> None:
    vectors = await HashEmbedder(1).embed([str(number) for number in range(500)])
    np.testing.assert_allclose(np.abs(vectors), 1.0)


async def test_overlap_is_the_share_of_the_querys_words() -> None:
    assert await OverlapReranker().score("Ada's dog", ["the dog of Ada", "a cat"]) == [2 / 3, 0.0]
    assert await OverlapReranker().score("?!", ["the dog"]) == [0.0]


async def test_a_scripted_model_gives_its_replies_in_turn() -> None:
    model = ScriptedModel(["yes", 7, ["a", "b"]])
    typed: LanguageModel = model
    first = await typed.generate(asked("12345"), str)
    assert (first.value, first.model) == ("yes", "scripted")
    assert first.usage == Usage(calls=1, tokens_in=2, tokens_out=1)
    assert (await model.generate(asked("second"), int)).value == 7
    assert model.replies_left == 1
    assert (await model.generate(asked("third"), list[str])).value == ["a", "b"]
    assert [prompt.text for prompt in model.prompts] == ["12345", "second", "third"]
    assert model.usage.calls == 3
    with pytest.raises(AssertionError, match="3 replies; this is call 4: fourth"):
        await model.generate(asked("fourth"), str)
    assert model.replies_left == 0


async def test_a_reply_of_another_type_is_the_tests_mistake() -> None:
    with pytest.raises(AssertionError, match="was asked for <class 'int'> and gave 'seven'"):
        await ScriptedModel(["seven"]).generate(asked("a number, please"), int)


async def test_a_reply_may_be_an_outage() -> None:
    model = ScriptedModel([ModelUnavailable("down"), "up"])
    with pytest.raises(ModelUnavailable, match="down"):
        await model.generate(asked("first"), str)
    assert (await model.generate(asked("second"), str)).value == "up"


async def test_a_fakes_reply_is_checked() -> None:
    def check(value: str) -> None:
        if value != "yes":
            raise ValueError("it is not yes")

    model = ScriptedModel(["no", "yes"])
    with pytest.raises(InvalidReply, match="it is not yes") as raised:
        await model.generate(asked("first"), str, check=check)
    assert raised.value.reply == "'no'"
    assert (await model.generate(asked("second"), str, check=check)).value == "yes"


async def test_a_fake_streams_word_by_word() -> None:
    stream = ScriptedModel(["one  two three"]).stream(asked("go"))
    assert [piece async for piece in stream] == ["one  ", "two ", "three"]


async def test_a_function_model_sees_prompt_and_type() -> None:
    def answer(prompt: Prompt, answer_type: type[object]) -> object:
        return f"{prompt.text}, {answer_type.__name__}"

    model = FunctionModel(answer, name="echo")
    assert (await model.generate(asked("hello"), str)).value == "hello, str"
    assert model.name == "echo"
