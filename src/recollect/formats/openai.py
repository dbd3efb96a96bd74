"""Read message lists in the style of OpenAI: one JSON document, a list of messages or an object that contains one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from functools import partial

from recollect.errors import InvalidInput
from recollect.formats.fields import Fields
from recollect.formats.lines import Line, parse_json, shown
from recollect.formats.moments import Sitting
from recollect.formats.parts import called, calls, content
from recollect.formats.utterances import AT, ROLES, Utterance

_RESULTS = frozenset({"tool", "function"})


def utterances(lines: Iterator[Line], zone: tzinfo | None) -> Iterator[Utterance]:
    """Read the whole document, then yield its messages. A message without any content is skipped.

    Raises:
        MalformedLine: the document is not JSON.
        InvalidInput: the document has no list of messages, or an element cannot be used; the error names the element,
            such as ``messages[3]``.
    """
    whole = Fields(values=_document(lines), bad=InvalidInput)
    session = whole.name("session", "id")
    began = whole.moment(zone, *AT)
    sitting = Sitting(began.at if began else None)
    names: dict[str, str] = {}
    for fields in _messages(whole):
        names.update(called(fields))
        said = _said(fields, session, sitting, zone, names)
        if said.text or said.captions:
            yield said


def _document(lines: Iterator[Line]) -> dict[str, object]:
    """Return the object that contains the messages. A bare list gets such an object."""
    kept = list(lines)
    value = parse_json("\n".join(line.text for line in kept), kept[0].number if kept else 1)
    if isinstance(value, list):
        return {"messages": value}
    if not isinstance(value, dict):
        raise InvalidInput(f"the document must be a list of messages or an object with 'messages', not {shown(value)}")
    return value


def _messages(whole: Fields) -> Iterator[Fields]:
    values = whole.value("messages")
    if not isinstance(values, list):
        raise InvalidInput(f"the document's 'messages' must be a list, not {shown(values)}")
    for index, value in enumerate(values):
        bad = partial(_bad, index)
        if not isinstance(value, dict):
            raise bad(f"not an object but {shown(value)}; a message has 'role' and 'content'")
        yield Fields(values=value, bad=bad)


def _bad(index: int, problem: str) -> InvalidInput:
    return InvalidInput(f"messages[{index}]: {problem}")


def _said(
    fields: Fields, session: str | None, sitting: Sitting, zone: tzinfo | None, names: dict[str, str]
) -> Utterance:
    role = fields.name("role")
    if role is None or role not in ROLES:
        problem = "'role' is missing" if role is None else f"unknown role {shown(role)}"
        raise fields.bad(f"{problem}; a message has 'content' and a 'role' of {', '.join(ROLES)}")
    if not fields.values.keys() & {"content", "text", "refusal", "tool_calls", "function_call", "audio"}:
        raise fields.bad("'content' is missing; a message has 'role' and 'content'")
    words = content(fields) + calls(fields)
    moment = fields.moment(zone, *AT)
    return Utterance(
        session=session,
        speaker=_speaker(fields, role, names),
        role=ROLES[role],
        text=words.text,
        at=sitting.time(moment.at if moment else None),
        stamp=moment.given if moment else "",
        id=fields.name("id"),
        captions=words.captions,
    )


def _speaker(fields: Fields, role: str, names: dict[str, str]) -> str:
    """Return the given name, or the name of the called tool for a result, or the word for the role."""
    name = fields.string("name", "speaker") or ""
    if not name.strip() and role in _RESULTS:
        name = names.get(fields.string("tool_call_id") or "", "")
    return name if name.strip() else role
