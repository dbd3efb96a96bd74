"""Read JSON Lines: one object on a line, as in the files for evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from functools import partial

from recollect.errors import MalformedLine
from recollect.formats.fields import JsonFields
from recollect.formats.lines import InputLine, parse_json, quote_value
from recollect.formats.message_times import add_seconds
from recollect.formats.utterances import AT, ROLES, Utterance

MESSAGE_FIELDS = frozenset(
    {"type", "id", "session", "conversation", "role", "captions", "important", *AT}
    | {"text", "content", "speaker", "name"}
)
SESSION_FIELDS = frozenset({"type", "id", "conversation", *AT})
IGNORED_TYPES = frozenset({"question", "dataset"})
"""The lines of an evaluation file that are not messages."""

_ONLY_CONVERSATION = "conversation"


def read_utterances(lines: Iterator[InputLine], zone: tzinfo | None) -> Iterator[Utterance]:
    """Yield the messages. Lines that describe a session or other things give no message.

    Raises:
        MalformedLine: a line is not a JSON object, or a field is unknown, missing or of the wrong type.
    """
    talk = _JsonlReader(zone)
    for line in lines:
        if line.is_blank:
            continue
        fields = _parse_fields(line)
        kind = fields.read_name("type") or "message"
        if kind == "message":
            yield talk.read_message(fields)
        elif kind == "session":
            talk.read_session(fields)
        elif kind not in IGNORED_TYPES:
            raise fields.make_error(
                f"unknown type {quote_value(kind)}; known are message, session, {', '.join(sorted(IGNORED_TYPES))}"
            )


def _parse_fields(line: InputLine) -> JsonFields:
    value = parse_json(line.text, line.number)
    if not isinstance(value, dict):
        raise MalformedLine(line.number, f"not a JSON object but {quote_value(value)}; write one object a line")
    return JsonFields(values=value, make_error=partial(MalformedLine, line.number))


class _JsonlReader:
    """The sessions as the lines so far describe them."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._open: str | None = None
        self._began: dict[str, datetime] = {}
        self._said: dict[str | None, int] = {}
        self._adrift: set[str | None] = set()
        self._conversation: str | None = None

    def read_session(self, fields: JsonFields) -> None:
        """Read the line of a session."""
        fields.require_known(SESSION_FIELDS)
        self._check_conversation(fields)
        name, moment = fields.read_name("id"), fields.read_moment(self._zone, *AT)
        if name is None or moment is None:
            raise fields.make_error(
                f"{'id' if name is None else 'at'!r} is missing: a session's line has a name and a time"
            )
        if self._began.get(name, moment.at) != moment.at:
            raise fields.make_error(
                f"the session {quote_value(name)} is there already with another time; give each a name of its own"
            )
        if name in self._adrift:
            raise fields.make_error(
                f"the session {quote_value(name)} has messages before this line that need its time; put it first"
            )
        self._open = name
        self._began[name] = moment.at

    def read_message(self, fields: JsonFields) -> Utterance:
        """Read the line of a message."""
        fields.require_known(MESSAGE_FIELDS)
        self._check_conversation(fields)
        session = fields.read_name("session") or self._open
        moment = fields.read_moment(self._zone, *AT)
        at = moment.at if moment else self._next_time(session)
        self._said[session] = self._said.get(session, 0) + 1
        role = _read_role(fields)
        captions = fields.read_strings("captions")
        return Utterance(
            session=session,
            speaker=fields.read_name("speaker", "name") or role,
            role=ROLES[role],
            text=_read_text(fields, captions),
            at=at,
            stamp=moment.given if moment else "",
            id=fields.read_name("id"),
            captions=captions,
            important=fields.read_flag("important"),
        )

    def _next_time(self, session: str | None) -> datetime | None:
        """Return the time of the session plus one second for each earlier message, so that the times keep the order."""
        if session is None or session not in self._began:
            self._adrift.add(session)
            return None
        return add_seconds(self._began[session], self._said.get(session, 0))

    def _check_conversation(self, fields: JsonFields) -> None:
        """Refuse a second conversation. Evaluation gives each conversation its own bank, and two of them may share
        names.
        """
        name = fields.read_name("conversation") or _ONLY_CONVERSATION
        self._conversation = self._conversation or name
        if name != self._conversation:
            raise fields.make_error(
                f"a second conversation, {quote_value(name)} after {quote_value(self._conversation)}; "
                f"retain them from files of their own, each into its bank"
            )


def _read_role(fields: JsonFields) -> str:
    role = fields.read_name("role") or "user"
    if role not in ROLES:
        raise fields.make_error(f"unknown role {quote_value(role)}; known are {', '.join(ROLES)}")
    return role


def _read_text(fields: JsonFields, captions: tuple[str, ...]) -> str:
    text = fields.read_string("text", "content")
    if text is None and not captions:
        raise fields.make_error("'text' is missing; a message needs a text, or captions")
    if not (text or "").strip() and not captions:
        raise fields.make_error("'text' is blank; leave the line out, or give the message a text or captions")
    return text or ""
