"""Read the words of a message in the style of OpenAI: its content and its tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recollect.formats.fields import Fields
from recollect.formats.lines import shown

_WORDS: Mapping[str, str] = {
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

_ABOUT = ("alt", "caption", "description", "detail", "title", "filename")
_FIDELITY = frozenset({"auto", "low", "high", "original"})
"""The values of OpenAI's ``detail``. They give the resolution of a picture and do not describe it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The words of a message, the descriptions of its attachments, and the kinds of attachments without a
    description.
    """

    texts: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    def __add__(self, other: Content) -> Content:
        return Content(
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


def content(fields: Fields) -> Content:
    """Return the content, the refusal and the spoken words of a message.

    Raises:
        InvalidInput: raised through ``fields.bad``; the content is not a string or a list of parts, or a part is
            unknown.
    """
    value = fields.value("content", "text")
    if value is None or isinstance(value, str):
        found = _words(value or "")
    elif isinstance(value, list):
        found = sum((_part(part, f"content[{n}]", fields) for n, part in enumerate(value)), Content())
    else:
        raise fields.bad(f"'content' must be a string or a list of parts, not {shown(value)}")
    return found + _words(fields.string("refusal") or "") + _words(_transcript(fields.value("audio")))


def calls(fields: Fields) -> Content:
    """Return the tool calls of an assistant, each as ``name(arguments)``.

    Raises:
        InvalidInput: raised through ``fields.bad``; the calls are not a list, or their nesting is too deep to be
            written.
    """
    try:
        return Content(texts=tuple(_call(call) for call in _called(fields)))
    except RecursionError as exc:
        raise fields.bad("a tool's call is nested too deeply") from exc


def called(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield the id of each call with the name of the called tool."""
    for call in _called(fields):
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            name = _function(call).get("name")
            if isinstance(name, str) and name.strip():
                yield call["id"], name


def _called(fields: Fields) -> list[object]:
    listed, single = fields.value("tool_calls"), fields.value("function_call")
    if listed is not None and not isinstance(listed, list):
        raise fields.bad(f"'tool_calls' must be a list, not {shown(listed)}")
    return [*(listed or ()), *(() if single is None else (single,))]


def _function(call: Mapping[str, object]) -> Mapping[str, object]:
    inner = call.get("function", call.get("custom", call))
    return inner if isinstance(inner, dict) else {}


def _call(call: object) -> str:
    function = _function(call) if isinstance(call, dict) else {}
    name, given = function.get("name"), function.get("arguments", function.get("input"))
    if not isinstance(name, str):  # a shape of its own: kept as it is
        return _dumped(call)
    return f"{name}({'' if given is None else given if isinstance(given, str) else _dumped(given)})"


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _words(text: str) -> Content:
    return Content(texts=(text,) if text.strip() else ())


def _transcript(value: object) -> str:
    words = value.get("transcript") if isinstance(value, dict) else None
    return words if isinstance(words, str) else ""


def _part(part: object, where: str, fields: Fields) -> Content:
    if isinstance(part, str):
        return _words(part)
    if not isinstance(part, dict):
        raise fields.bad(f"{where} must be a part with a 'type', not {shown(part)}")
    kind = part.get("type")
    if isinstance(kind, str) and kind in _ATTACHED:
        return _attached(kind, part)
    if not isinstance(kind, str) or kind not in _WORDS:
        known = ", ".join(sorted({*_WORDS, *_ATTACHED}))
        raise fields.bad(f"{where} is of unknown type {shown(kind)}; make it a text part. Known are {known}")
    value = part.get(_WORDS[kind])
    words = value.get("value") if isinstance(value, dict) else value
    if not isinstance(words, str):
        raise fields.bad(f"{where} has no string under {_WORDS[kind]!r} but {shown(value)}")
    return _words(words)


def _attached(kind: str, part: Mapping[str, object]) -> Content:
    inner = part.get(kind)
    places = (part, inner) if isinstance(inner, dict) else (part,)
    spoken = sum((_words(_transcript(place)) for place in places), Content())
    about = tuple(dict.fromkeys(word for place in places for word in _about(place)))
    found = spoken + Content(captions=about)
    return found if found.texts or found.captions else Content(silent=(kind,))


def _about(place: Mapping[str, object]) -> Iterator[str]:
    for key in _ABOUT:
        value = place.get(key)
        if isinstance(value, str) and value.strip() and not (key == "detail" and value in _FIDELITY):
            yield value
