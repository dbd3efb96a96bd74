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
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponseStreamEvent
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

    def messages(self, *, prompted: bool) -> list[ModelMessage]:
        """What is said so far; ``prompted`` puts the schema into the system text."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

        system = self.prompt.system
        if prompted:
            system = f"{system}\n\n{_schema_words(self.schema)}".lstrip()
        parts: list[ModelRequestPart] = [UserPromptPart(content=self.prompt.text)]
        if system:
            parts.insert(0, SystemPromptPart(content=system))
        said: list[ModelMessage] = [ModelRequest(parts=parts)]
        if self.mistake is not None:
            said.append(ModelResponse(parts=[TextPart(content=_shown(self.reply))]))
            said.append(ModelRequest(parts=[UserPromptPart(content=self._correction(self.mistake))]))
        return said

    def _correction(self, mistake: Mistake) -> str:
        words = f"This answer cannot be used: {mistake}\n\nGive the whole answer once more, put right."
        # A server may have taken the schema and kept it from the model.
        return f"{words}\n\n{_schema_words(self.schema)}" if mistake.shape else words


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
    return estimated_tokens(*(str(getattr(part, "content", "")) for message in messages for part in message.parts))


def piece_of(event: ModelResponseStreamEvent) -> str:
    """The text that an event of a stream brings; thinking is none."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
