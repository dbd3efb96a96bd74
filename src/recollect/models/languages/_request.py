"""Build the requests to a model, and read its responses, in the types of pydantic-ai."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from recollect.domain.usage import Usage
from recollect.models.language import Prompt
from recollect.models.languages.replies import ReplyMistake, Schema, build_schema, find_schema_name
from recollect.models.languages.usage_tally import estimate_tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponseStreamEvent, UserContent
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.usage import RequestUsage

T = TypeVar("T")

SHOWN_CHARACTERS: Final = 8000


@dataclass(frozen=True)
class ModelRequest(Generic[T]):
    """A prompt for an answer of a type. ``reply`` is the last answer, and ``mistake`` says what is wrong with it."""

    prompt: Prompt
    answer_type: type[T]
    reply: str = ""
    mistake: ReplyMistake | None = None

    @cached_property
    def schema(self) -> Schema | None:
        return build_schema(self.answer_type)

    def with_correction(self, reply: str, mistake: ReplyMistake) -> ModelRequest[T]:
        """Return the request with the mistake in its last answer. Without an answer there is nothing to correct."""
        return replace(self, reply=reply, mistake=mistake if reply else None)

    def instructions(self, *, prompted: bool) -> str:
        """Return the system text. ``prompted`` puts the schema into it."""
        return f"{self.prompt.system}\n\n{self.describe_form()}".strip() if prompted else self.prompt.system

    def describe_form(self) -> str:
        """Return the form of the answer in words. It is empty for plain text."""
        return "" if self.schema is None else _render_schema(self.schema)

    def last_correction(self) -> tuple[str, str] | None:
        """Return the answer that could not be used and its mistake, or ``None`` if there was none."""
        if self.mistake is None:
            return None
        words = f"This answer cannot be used: {self.mistake}\n\nGive the whole answer once more, put right."
        if self.mistake.breaks_schema:  # a server may accept the schema and not show it to the model
            words = f"{words}\n\n{_render_schema(self.schema)}"
        return _quote_reply(self.reply), words

    def messages(self, *, prompted: bool, marked: bool = False) -> list[ModelMessage]:
        """Return the conversation so far. ``marked`` marks the end of the prefix."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

        parts: list[ModelRequestPart] = [UserPromptPart(content=self._user_content(marked))]
        if system := self.instructions(prompted=prompted):
            parts.insert(0, SystemPromptPart(content=system))
        said: list[ModelMessage] = [ModelRequest(parts=parts)]
        if correction := self.last_correction():
            said.append(ModelResponse(parts=[TextPart(content=correction[0])]))
            said.append(ModelRequest(parts=[UserPromptPart(content=correction[1])]))
        return said

    def _user_content(self, marked: bool) -> str | list[UserContent]:
        """Return the request as one text, or with a mark for a provider that must be told how much to cache."""
        from pydantic_ai.messages import CachePoint

        if not (marked and self.prompt.prefix and self.prompt.text):
            return self.prompt.full_text
        return [self.prompt.prefix, CachePoint(), self.prompt.text]


def _render_schema(schema: Schema | None) -> str:
    return (
        "Answer with a single JSON object and nothing besides: no word before or after it, no code fence. "
        f"It has to meet this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _quote_reply(reply: str) -> str:
    return reply if len(reply) <= SHOWN_CHARACTERS else f"{reply[:SHOWN_CHARACTERS]} […]"


def build_parameters(request: ModelRequest[T], *, native: bool) -> ModelRequestParameters:
    """Return what pydantic-ai must know about the answer. With ``native`` the server enforces the schema."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if not native or request.schema is None:
        return ModelRequestParameters(output_mode="text")
    answer = OutputObjectDefinition(json_schema=request.schema, name=find_schema_name(request.answer_type), strict=True)
    return ModelRequestParameters(output_mode="native", output_object=answer)


def read_usage(usage: RequestUsage | None, messages: Sequence[ModelMessage], text: str | None) -> Usage:
    """Return the tokens of one request: the server's figures, or an estimate, so that limits hold with any server."""
    if usage is not None and (usage.input_tokens or usage.output_tokens):
        return Usage(
            tokens_in=usage.input_tokens, tokens_out=usage.output_tokens, tokens_cached=usage.cache_read_tokens
        )
    return Usage(tokens_in=estimate_request_tokens(messages), tokens_out=estimate_tokens(text or ""))


def estimate_request_tokens(messages: Sequence[ModelMessage]) -> int:
    """Return an estimate of the tokens in a request."""
    contents = (getattr(part, "content", "") for message in messages for part in message.parts)
    return estimate_tokens(*(text for content in contents for text in _list_texts(content)))


def _list_texts(content: object) -> list[str]:
    """Return the texts of a part. The marks between them show the end of a prefix."""
    return [one for one in content if isinstance(one, str)] if isinstance(content, list) else [str(content)]


def read_piece(event: ModelResponseStreamEvent) -> str:
    """Return the text that an event of a stream brings. Thinking gives no text."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
