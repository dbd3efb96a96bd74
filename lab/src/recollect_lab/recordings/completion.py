"""Chat completions, as OpenAI's API words them: read into entries, and written from them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from recollect_lab.recordings.recorded_reply import Body, Json, RecordedReply, RequestKey, select_kept


def parse_completion(asked: RequestKey, request: Body, answer: bytes) -> RecordedReply | None:
    """The reply in an endpoint's answer; ``None`` where it says nothing, or is no chat completion."""
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
    """The answer that carries an entry's reply; ``created`` is in seconds since 1970."""
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
    # An empty object is no usage to those who read it; leaving it out is.
    return {**completion, "usage": entry.usage} if entry.usage else completion
