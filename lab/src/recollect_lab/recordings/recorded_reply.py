"""A request to a language model with its recorded reply, as a line of a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recollect.errors import MalformedLine

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
Body = Mapping[str, Json]

KEY_CHARACTERS = 16

_ASKED = ("messages", "tools", "tool_choice", "response_format")
_TAGS = "metadata"
_NOT_KEPT = frozenset({_TAGS, "model", "stream"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """The key of a request, and its tags. The tags are empty if the request has none."""

    key: str
    role: str = ""
    operation: str = ""
    subject: str = ""

    @property
    def purpose(self) -> tuple[str, str, str]:
        """Return the place for which a reply was recorded: role, operation and subject, without the words of its
        prompt.
        """
        return self.role, self.operation, self.subject

    def __str__(self) -> str:
        return " ".join(filter(None, self.purpose)) or f"an untagged request ({self.key})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReply:
    """A recorded reply.

    ``request`` is the body of the chat completion without its model and tags. ``reply`` is the assistant's text, and
    ``tool_calls`` are the tools that it called instead. ``finish`` is the reason why it ended. ``usage`` has the tokens
    as the endpoint counted them.
    """

    asked: RequestKey
    model: str
    request: Body = field(hash=False)
    reply: str
    tool_calls: Sequence[Json] = field(default=(), hash=False)
    finish: str = "stop"
    usage: Body = field(default_factory=dict, hash=False)

    @property
    def sort_key(self) -> tuple[str, str, str, str]:
        """Return the sort key of the entry in the file: role, subject, operation, key."""
        return self.asked.role, self.asked.subject, self.asked.operation, self.asked.key

    @property
    def request_bytes(self) -> int:
        """Return the size of the request."""
        return len(_dump_json(self.request))

    @property
    def reply_bytes(self) -> int:
        """Return the size of the reply."""
        return len(self.reply.encode("utf-8", "replace")) + (len(_dump_json(self.tool_calls)) if self.tool_calls else 0)


def read_request_key(body: Body) -> RequestKey:
    """Return the key and the tags of a request."""
    tags = body.get(_TAGS)
    given = tags if isinstance(tags, Mapping) else {}
    told = {name: str(given[name]) for name in ("role", "operation", "subject") if given.get(name) is not None}
    return RequestKey(key=compute_key(body), **told)


def compute_key(body: Body) -> str:
    """Return the key of a request: sixteen hexadecimal digits of a hash of everything on which an answer depends.

    The model's name, its temperature and the tags are not part of it, because the reply of another model is as good.
    """
    asked = {name: body[name] for name in _ASKED if body.get(name) is not None}
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_CHARACTERS]


def select_kept(body: Body) -> Body:
    """Return the parts of a request that are recorded."""
    return {name: value for name, value in body.items() if name not in _NOT_KEPT}


def drop_tags(body: Body) -> Body:
    """Return a request without its tags, as it is sent to the upstream. Only recollect and the recording use the
    tags.
    """
    return {name: value for name, value in body.items() if name != _TAGS}


def dump_reply(entry: RecordedReply) -> bytes:
    """Return an entry as a line of JSON, with the end of the line."""
    asked = entry.asked
    cells: dict[str, Json] = {
        "key": asked.key,
        "role": asked.role,
        "operation": asked.operation,
        "subject": asked.subject,
        "model": entry.model,
        "request": entry.request,
        "reply": entry.reply,
        **({"tool_calls": entry.tool_calls} if entry.tool_calls else {}),
        "finish": entry.finish,
        "usage": entry.usage,
    }
    return _dump_json(cells) + b"\n"


def load_reply(text: str, line: int) -> RecordedReply:
    """Read the entry that :func:`dump_reply` wrote.

    Raises:
        MalformedLine: the line is not an entry, or was changed by hand, so that its key does not belong to its request.
    """
    try:
        cells = json.loads(text)
        words = {name: _read_text(cells, name) for name in ("key", "role", "operation", "subject")}
        entry = RecordedReply(
            asked=RequestKey(**words),
            model=_read_text(cells, "model"),
            request=_read_object(cells, "request"),
            reply=_read_text(cells, "reply"),
            tool_calls=tuple(cells.get("tool_calls", ())),
            finish=_read_text(cells, "finish"),
            usage=_read_object(cells, "usage"),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise MalformedLine(line, f"the line is not a recorded reply: {exc!r}") from exc
    if entry.asked.key != compute_key(entry.request):
        raise MalformedLine(
            line, f"the key {entry.asked.key} is not the key of its request, {compute_key(entry.request)}"
        )
    return entry


def _read_text(cells: Mapping[str, object], name: str) -> str:
    if not isinstance(value := cells[name], str):
        raise TypeError(f"{name} is not a text")
    return value


def _read_object(cells: Mapping[str, Body], name: str) -> Body:
    if not isinstance(value := cells[name], dict):
        raise TypeError(f"{name} is not an object")
    return value


def _dump_json(value: Json) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, but JSON can escape it
        return json.dumps(value).encode()
