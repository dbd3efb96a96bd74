"""Return the texts that a model call sends and receives, to count their tokens without a call."""

from __future__ import annotations

import json
from importlib.util import find_spec

from recollect.errors import MissingExtra
from recollect.models.language import Prompt
from recollect.models.languages.replies import build_schema, dump_answer


def require_schemas() -> None:
    """Raise MissingExtra if the functions below cannot be used.

    Raises:
        MissingExtra: the package that makes JSON schemas from types is not installed.
    """
    if find_spec("pydantic") is None:
        raise MissingExtra("pydantic-ai-slim", "models")


def render_request_texts(prompt: Prompt, answer_type: type[object]) -> tuple[str, ...]:
    """Return the texts that a model reads: the system text, the JSON schema of the answer, and the prompt."""
    schema = build_schema(answer_type)
    told = () if schema is None else (json.dumps(schema, ensure_ascii=False),)
    return (prompt.system, *told, prompt.full_text)


def render_reply_text(value: object, answer_type: type[object]) -> str:
    """Return the text that a model writes: the answer as JSON, or as plain text."""
    return dump_answer(value, answer_type)
