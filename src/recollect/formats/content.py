"""Read the words of a message in the style of OpenAI: its content and its tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recollect.formats.fields import JsonFields
from recollect.formats.lines import quote_value

_TEXT_FIELDS: Mapping[str, str] = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
"""The parts that are words, each with the key of its text."""

_ATTACHED = frozenset(
    {"image_url", "image", "image_file", "input_image", "input_audio", "audio", "output_audio", "file", "input_file"}
)
"""The parts that are pictures, sounds and files. Only their descriptions in words can be kept."""

_DESCRIPTION_FIELDS = ("alt", "caption", "description", "detail", "title", "filename")
_FIDELITY = frozenset({"auto", "low", "high", "original"})
"""The values of OpenAI's ``detail``. They give the resolution of a picture and do not describe it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContent:
    """The words of a message, the descriptions of its attachments, and the kinds of attachments without a
    description.
    """

    texts: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    def __add__(self, other: MessageContent) -> MessageContent:
        return MessageContent(
            texts=self.texts + other.texts,
            captions=self.captions + other.captions,
            silent=self.silent + other.silent,
        )

    @property
    def text(self) -> str:
        """Return the texts, one below the other. A message with attachments only names their kinds, so that it is
        kept.
        """
        if self.texts or self.captions:
            return "\n".join(self.texts)
        return " ".join(f"[{kind}]" for kind in self.silent)


def read_content(fields: JsonFields) -> MessageContent:
    """Return the content, the refusal and the spoken words of a message.

    Raises:
        InvalidInput: raised through ``fields.bad``; the content is not a string or a list of parts, or a part is
            unknown.
    """
    value = fields.read_value("content", "text")
    if value is None or isinstance(value, str):
        found = _text_content(value or "")
    elif isinstance(value, list):
        found = sum((_read_part(part, f"content[{n}]", fields) for n, part in enumerate(value)), MessageContent())
    else:
        raise fields.make_error(f"'content' must be a string or a list of parts, not {quote_value(value)}")
    return (
        found
        + _text_content(fields.read_string("refusal") or "")
        + _text_content(_read_transcript(fields.read_value("audio")))
    )


def read_tool_calls(fields: JsonFields) -> MessageContent:
    """Return the tool calls of an assistant, each as ``name(arguments)``.

    Raises:
        InvalidInput: raised through ``fields.bad``; the calls are not a list, or their nesting is too deep to be
            written.
    """
    try:
        return MessageContent(texts=tuple(_render_call(call) for call in _list_calls(fields)))
    except RecursionError as exc:
        raise fields.make_error("a tool's call is nested too deeply") from exc


def read_call_names(fields: JsonFields) -> Iterator[tuple[str, str]]:
    """Yield the id of each call with the name of the called tool."""
    for call in _list_calls(fields):
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            name = _read_function(call).get("name")
            if isinstance(name, str) and name.strip():
                yield call["id"], name


def _list_calls(fields: JsonFields) -> list[object]:
    listed, single = fields.read_value("tool_calls"), fields.read_value("function_call")
    if listed is not None and not isinstance(listed, list):
        raise fields.make_error(f"'tool_calls' must be a list, not {quote_value(listed)}")
    return [*(listed or ()), *(() if single is None else (single,))]


def _read_function(call: Mapping[str, object]) -> Mapping[str, object]:
    inner = call.get("function", call.get("custom", call))
    return inner if isinstance(inner, dict) else {}


def _render_call(call: object) -> str:
    function = _read_function(call) if isinstance(call, dict) else {}
    name, given = function.get("name"), function.get("arguments", function.get("input"))
    if not isinstance(name, str):  # a shape of its own: kept as it is
        return _dump_json(call)
    return f"{name}({'' if given is None else given if isinstance(given, str) else _dump_json(given)})"


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text_content(text: str) -> MessageContent:
    return MessageContent(texts=(text,) if text.strip() else ())


def _read_transcript(value: object) -> str:
    words = value.get("transcript") if isinstance(value, dict) else None
    return words if isinstance(words, str) else ""


def _read_part(part: object, where: str, fields: JsonFields) -> MessageContent:
    if isinstance(part, str):
        return _text_content(part)
    if not isinstance(part, dict):
        raise fields.make_error(f"{where} must be a part with a 'type', not {quote_value(part)}")
    kind = part.get("type")
    if isinstance(kind, str) and kind in _ATTACHED:
        return _read_attachment(kind, part)
    if not isinstance(kind, str) or kind not in _TEXT_FIELDS:
        known = ", ".join(sorted({*_TEXT_FIELDS, *_ATTACHED}))
        raise fields.make_error(
            f"{where} is of unknown type {quote_value(kind)}; make it a text part. Known are {known}"
        )
    value = part.get(_TEXT_FIELDS[kind])
    words = value.get("value") if isinstance(value, dict) else value
    if not isinstance(words, str):
        raise fields.make_error(f"{where} has no string under {_TEXT_FIELDS[kind]!r} but {quote_value(value)}")
    return _text_content(words)


def _read_attachment(kind: str, part: Mapping[str, object]) -> MessageContent:
    inner = part.get(kind)
    places = (part, inner) if isinstance(inner, dict) else (part,)
    spoken = sum((_text_content(_read_transcript(place)) for place in places), MessageContent())
    about = tuple(dict.fromkeys(word for place in places for word in _read_descriptions(place)))
    found = spoken + MessageContent(captions=about)
    return found if found.texts or found.captions else MessageContent(silent=(kind,))


def _read_descriptions(place: Mapping[str, object]) -> Iterator[str]:
    for key in _DESCRIPTION_FIELDS:
        value = place.get(key)
        if isinstance(value, str) and value.strip() and not (key == "detail" and value in _FIDELITY):
            yield value
