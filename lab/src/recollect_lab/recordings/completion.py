"""Convert between chat completions, in the form of OpenAI's API, and entries of a recording."""

from __future__ import annotations

import json
from collections.abc import Mapping

from recollect_lab.recordings.recorded_reply import Body, Json, RecordedReply, RequestKey, select_kept


def parse_completion(asked: RequestKey, request: Body, answer: bytes) -> RecordedReply | None:
    """Return the reply in an endpoint's answer. ``None`` if the answer is empty, or is not a chat completion."""
    try:
        completion = json.loads(answer)
        choice = completion["choices"][0]
        message = choice["message"]
        text, calls = message.get("content") or "", message.get("tool_calls") or []
        usage, finish = completion.get("usage") or {}, choice.get("finish_reason") or "stop"
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
    sound = isinstance(text, str) and isinstance(calls, list) and isinstance(usage, Mapping)
    if not sound or not (text or calls):
        return None
    return RecordedReply(
        asked=asked,
        model=str(completion.get("model") or request.get("model") or ""),
        request=select_kept(request),
        reply=text,
        tool_calls=tuple(calls),
        finish=str(finish),
        usage=usage,
    )


def make_completion(entry: RecordedReply, *, created: int) -> Body:
    """Return the chat completion with an entry's reply. ``created`` is in seconds since 1970."""
    message: dict[str, Json] = {"role": "assistant", "content": entry.reply or None}
    if entry.tool_calls:
        message["tool_calls"] = entry.tool_calls
    completion: dict[str, Json] = {
        "id": f"chatcmpl-{entry.asked.key}",
        "object": "chat.completion",
        "created": created,
        "model": entry.model,
        "choices": [{"index": 0, "message": message, "finish_reason": entry.finish, "logprobs": None}],
    }
    # Clients accept a missing usage, but not an empty object.
    return {**completion, "usage": entry.usage} if entry.usage else completion
