"""Read JSON Lines: one object on a line, as in the files for evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from functools import partial

from recollect.errors import MalformedLine
from recollect.formats.fields import Fields
from recollect.formats.lines import Line, parse_json, shown
from recollect.formats.moments import later
from recollect.formats.utterances import AT, ROLES, Utterance

MESSAGE = frozenset(
    {"type", "id", "session", "conversation", "role", "captions", "important", *AT}
    | {"text", "content", "speaker", "name"}
)
SESSION = frozenset({"type", "id", "conversation", *AT})
PASSED_OVER = frozenset({"question", "dataset"})
"""The lines of an evaluation file that are not messages."""

_ONLY_CONVERSATION = "conversation"


def utterances(lines: Iterator[Line], zone: tzinfo | None) -> Iterator[Utterance]:
    """Yield the message of each line.

    Raises:
        MalformedLine: a line is not a JSON object, or a field is unknown, missing or of the wrong type.
    """
    talk = _Talk(zone)
    for line in lines:
        if line.blank:
            continue
        fields = _fields(line)
        kind = fields.name("type") or "message"
        if kind == "message":
            yield talk.said(fields)
        elif kind == "session":
            talk.opened(fields)
        elif kind not in PASSED_OVER:
            raise fields.bad(
                f"unknown type {shown(kind)}; known are message, session, {', '.join(sorted(PASSED_OVER))}"
            )


def _fields(line: Line) -> Fields:
    value = parse_json(line.text, line.number)
    if not isinstance(value, dict):
        raise MalformedLine(line.number, f"not a JSON object but {shown(value)}; write one object a line")
    return Fields(values=value, bad=partial(MalformedLine, line.number))


class _Talk:
    """The sessions as the lines so far describe them."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._open: str | None = None
        self._began: dict[str, datetime] = {}
        self._said: dict[str | None, int] = {}
        self._adrift: set[str | None] = set()
        self._conversation: str | None = None

    def opened(self, fields: Fields) -> None:
        """Read the line of a session."""
        fields.only(SESSION)
        self._check_conversation(fields)
        name, moment = fields.name("id"), fields.moment(self._zone, *AT)
        if name is None or moment is None:
            raise fields.bad(f"{'id' if name is None else 'at'!r} is missing: a session's line has a name and a time")
        if self._began.get(name, moment.at) != moment.at:
            raise fields.bad(
                f"the session {shown(name)} is there already with another time; give each a name of its own"
            )
        if name in self._adrift:
            raise fields.bad(
                f"the session {shown(name)} has messages before this line that need its time; put it first"
            )
        self._open = name
        self._began[name] = moment.at

    def said(self, fields: Fields) -> Utterance:
        """Read the line of a message."""
        fields.only(MESSAGE)
        self._check_conversation(fields)
        session = fields.name("session") or self._open
        moment = fields.moment(self._zone, *AT)
        at = moment.at if moment else self._time(session)
        self._said[session] = self._said.get(session, 0) + 1
        role = _role(fields)
        captions = fields.strings("captions")
        return Utterance(
            session=session,
            speaker=fields.name("speaker", "name") or role,
            role=ROLES[role],
            text=_text(fields, captions),
            at=at,
            stamp=moment.given if moment else "",
            id=fields.name("id"),
            captions=captions,
            important=fields.flag("important"),
        )

    def _time(self, session: str | None) -> datetime | None:
        """Return the time of the session plus one second for each earlier message, so that the times keep the order."""
        if session is None or session not in self._began:
            self._adrift.add(session)
            return None
        return later(self._began[session], self._said.get(session, 0))

    def _check_conversation(self, fields: Fields) -> None:
        """Refuse a second conversation. Evaluation gives each conversation its own bank, and two of them may share
        names.
        """
        name = fields.name("conversation") or _ONLY_CONVERSATION
        self._conversation = self._conversation or name
        if name != self._conversation:
            raise fields.bad(
                f"a second conversation, {shown(name)} after {shown(self._conversation)}; "
                f"retain them from files of their own, each into its bank"
            )


def _role(fields: Fields) -> str:
    role = fields.name("role") or "user"
    if role not in ROLES:
        raise fields.bad(f"unknown role {shown(role)}; known are {', '.join(ROLES)}")
    return role


def _text(fields: Fields, captions: tuple[str, ...]) -> str:
    text = fields.string("text", "content")
    if text is None and not captions:
        raise fields.bad("'text' is missing; a message needs a text, or captions")
    if not (text or "").strip() and not captions:
        raise fields.bad("'text' is blank; leave the line out, or give the message a text or captions")
    return text or ""
