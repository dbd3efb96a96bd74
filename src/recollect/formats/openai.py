"""Read message lists in the style of OpenAI: one JSON document, a list of messages or an object that contains one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from functools import partial

from recollect.errors import InvalidInput
from recollect.formats.content import read_call_names, read_content, read_tool_calls
from recollect.formats.fields import JsonFields
from recollect.formats.lines import InputLine, parse_json, quote_value
from recollect.formats.message_times import SessionClock
from recollect.formats.utterances import AT, ROLES, Utterance

_RESULTS = frozenset({"tool", "function"})


def read_utterances(lines: Iterator[InputLine], zone: tzinfo | None) -> Iterator[Utterance]:
    """Read the whole document, then yield its messages. A message without any content is skipped.

    Raises:
        MalformedLine: the document is not JSON.
        InvalidInput: the document has no list of messages, or an element cannot be used; the error names the element,
            such as ``messages[3]``.
    """
    whole = JsonFields(values=_read_document(lines), make_error=InvalidInput)
    session = whole.read_name("session", "id")
    began = whole.read_moment(zone, *AT)
    sitting = SessionClock(began.at if began else None)
    names: dict[str, str] = {}
    for fields in _read_messages(whole):
        names.update(read_call_names(fields))
        said = _read_message(fields, session, sitting, zone, names)
        if said.text or said.captions:
            yield said


def _read_document(lines: Iterator[InputLine]) -> dict[str, object]:
    """Return the object that contains the messages. A bare list gets such an object."""
    kept = list(lines)
    value = parse_json("\n".join(line.text for line in kept), kept[0].number if kept else 1)
    if isinstance(value, list):
        return {"messages": value}
    if not isinstance(value, dict):
        raise InvalidInput(
            f"the document must be a list of messages or an object with 'messages', not {quote_value(value)}"
        )
    return value


def _read_messages(whole: JsonFields) -> Iterator[JsonFields]:
    values = whole.read_value("messages")
    if not isinstance(values, list):
        raise InvalidInput(f"the document's 'messages' must be a list, not {quote_value(values)}")
    for index, value in enumerate(values):
        bad = partial(_make_error, index)
        if not isinstance(value, dict):
            raise bad(f"not an object but {quote_value(value)}; a message has 'role' and 'content'")
        yield JsonFields(values=value, make_error=bad)


def _make_error(index: int, problem: str) -> InvalidInput:
    return InvalidInput(f"messages[{index}]: {problem}")


def _read_message(
    fields: JsonFields, session: str | None, sitting: SessionClock, zone: tzinfo | None, names: dict[str, str]
) -> Utterance:
    role = fields.read_name("role")
    if role is None or role not in ROLES:
        problem = "'role' is missing" if role is None else f"unknown role {quote_value(role)}"
        raise fields.make_error(f"{problem}; a message has 'content' and a 'role' of {', '.join(ROLES)}")
    if not fields.values.keys() & {"content", "text", "refusal", "tool_calls", "function_call", "audio"}:
        raise fields.make_error("'content' is missing; a message has 'role' and 'content'")
    words = read_content(fields) + read_tool_calls(fields)
    moment = fields.read_moment(zone, *AT)
    return Utterance(
        session=session,
        speaker=_find_speaker(fields, role, names),
        role=ROLES[role],
        text=words.text,
        at=sitting.next_time(moment.at if moment else None),
        stamp=moment.given if moment else "",
        id=fields.read_name("id"),
        captions=words.captions,
    )


def _find_speaker(fields: JsonFields, role: str, names: dict[str, str]) -> str:
    """Return the given name, or the name of the called tool for a result, or the word for the role."""
    name = fields.read_string("name", "speaker") or ""
    if not name.strip() and role in _RESULTS:
        name = names.get(fields.read_string("tool_call_id") or "", "")
    return name if name.strip() else role
