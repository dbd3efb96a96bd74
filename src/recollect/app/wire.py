"""What of a call goes over the wire, for counting its tokens without making it."""

from __future__ import annotations

import json
from importlib.util import find_spec

from recollect.errors import MissingExtra
from recollect.models.language import Prompt
from recollect.models.languages.replies import build_schema, dump_answer


def require_schemas() -> None:
    """See to it that the functions below can be called.

    Raises:
        MissingExtra: what makes schemas of types is not installed.
    """
    if find_spec("pydantic") is None:
        raise MissingExtra("pydantic-ai-slim", "models")


def render_request_texts(prompt: Prompt, answer_type: type[object]) -> tuple[str, ...]:
    """What a model reads: the system text, the JSON schema of the answer, and what is asked."""
    schema = build_schema(answer_type)
    told = () if schema is None else (json.dumps(schema, ensure_ascii=False),)
    return (prompt.system, *told, prompt.full_text)


def render_reply_text(value: object, answer_type: type[object]) -> str:
    """What a model writes: the answer as JSON, or as plain text."""
    return dump_answer(value, answer_type)
