"""What is sent to a model and what comes back, in pydantic-ai's terms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from recollect.domain.usage import Usage
from recollect.models.language import Prompt
from recollect.models.languages.replies import Mistake, Schema, schema_of
from recollect.models.languages.tally import estimated_tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponseStreamEvent, UserContent
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.usage import RequestUsage

T = TypeVar("T")

SHOWN_CHARACTERS: Final = 8000


@dataclass(frozen=True)
class Request(Generic[T]):
    """A prompt for an answer of a type; ``reply`` and ``mistake`` are the last answer, and what is wrong with it."""

    prompt: Prompt
    answer_type: type[T]
    reply: str = ""
    mistake: Mistake | None = None

    @cached_property
    def schema(self) -> Schema | None:
        return schema_of(self.answer_type)

    def corrected(self, reply: str, mistake: Mistake) -> Request[T]:
        """The same with what is wrong with its answer; where there was none, there is nothing to tell."""
        return replace(self, reply=reply, mistake=mistake if reply else None)

    def instructions(self, *, prompted: bool) -> str:
        """The system text; ``prompted`` puts the schema into it."""
        return f"{self.prompt.system}\n\n{self.form()}".strip() if prompted else self.prompt.system

    def form(self) -> str:
        """How an answer is to be written, in words; nothing for plain text."""
        return "" if self.schema is None else _schema_words(self.schema)

    def correction(self) -> tuple[str, str] | None:
        """The answer that could not be used, and what is wrong with it; ``None`` where there was none."""
        if self.mistake is None:
            return None
        words = f"This answer cannot be used: {self.mistake}\n\nGive the whole answer once more, put right."
        if self.mistake.shape:  # a server may have taken the schema and kept it from the model
            words = f"{words}\n\n{_schema_words(self.schema)}"
        return _shown(self.reply), words

    def messages(self, *, prompted: bool, marked: bool = False) -> list[ModelMessage]:
        """What is said so far; ``marked`` says after the prefix that it ends there."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

        parts: list[ModelRequestPart] = [UserPromptPart(content=self._content(marked))]
        if system := self.instructions(prompted=prompted):
            parts.insert(0, SystemPromptPart(content=system))
        said: list[ModelMessage] = [ModelRequest(parts=parts)]
        if correction := self.correction():
            said.append(ModelResponse(parts=[TextPart(content=correction[0])]))
            said.append(ModelRequest(parts=[UserPromptPart(content=correction[1])]))
        return said

    def _content(self, marked: bool) -> str | list[UserContent]:
        """What is asked: one text, unless a provider is to be told up to where it may keep it."""
        from pydantic_ai.messages import CachePoint

        if not (marked and self.prompt.prefix and self.prompt.text):
            return self.prompt.asked
        return [self.prompt.prefix, CachePoint(), self.prompt.text]


def _schema_words(schema: Schema | None) -> str:
    return (
        "Answer with a single JSON object and nothing besides: no word before or after it, no code fence. "
        f"It has to meet this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _shown(reply: str) -> str:
    return reply if len(reply) <= SHOWN_CHARACTERS else f"{reply[:SHOWN_CHARACTERS]} […]"


def parameters(request: Request[T], *, native: bool) -> ModelRequestParameters:
    """What pydantic-ai is told about the answer; ``native`` lets the server enforce the schema."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if not native or request.schema is None:
        return ModelRequestParameters(output_mode="text")
    answer = OutputObjectDefinition(json_schema=request.schema, name=request.answer_type.__name__, strict=True)
    return ModelRequestParameters(output_mode="native", output_object=answer)


def heard_usage(usage: RequestUsage | None, messages: Sequence[ModelMessage], said: str | None) -> Usage:
    """The tokens of one request: what the server says, else an estimate, so that limits hold with any server."""
    if usage is not None and (usage.input_tokens or usage.output_tokens):
        return Usage(
            tokens_in=usage.input_tokens, tokens_out=usage.output_tokens, tokens_cached=usage.cache_read_tokens
        )
    return Usage(tokens_in=asked_tokens(messages), tokens_out=estimated_tokens(said or ""))


def asked_tokens(messages: Sequence[ModelMessage]) -> int:
    """About how many tokens a request is."""
    contents = (getattr(part, "content", "") for message in messages for part in message.parts)
    return estimated_tokens(*(text for content in contents for text in _texts(content)))


def _texts(content: object) -> list[str]:
    """The words of a part; what is between them marks where a prefix ends."""
    return [one for one in content if isinstance(one, str)] if isinstance(content, list) else [str(content)]


def piece_of(event: ModelResponseStreamEvent) -> str:
    """The text that an event of a stream brings; thinking is none."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
