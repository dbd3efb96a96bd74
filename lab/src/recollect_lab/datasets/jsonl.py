"""The neutral format: JSON Lines of sessions, messages and questions (docs/reference/eval-formats.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from recollect.domain.messages import Message, Role
from recollect_lab.datasets.dataset import Conversation, Dataset, Place, Question, Session
from recollect_lab.datasets.files import SourceFile, read_source
from recollect_lab.datasets.lines import Line, read_lines

FIELDS: Mapping[str, frozenset[str]] = {
    "dataset": frozenset({"type", "name", "place"}),
    "session": frozenset({"type", "id", "at", "conversation"}),
    "message": frozenset(
        {"type", "id", "session", "speaker", "role", "text", "at", "captions", "important", "conversation"}
    ),
    "question": frozenset({"type", "id", "text", "at", "category", "answer", "evidence", "conversation"}),
}
"""The types of line, and the fields each may have."""

_ONLY_CONVERSATION = "conversation"


def load(path: Path) -> Dataset:
    """Read a file in the neutral format, gzip or plain. Lines may come in any order.

    Raises:
        InvalidInput: the file cannot be read.
        MalformedLine: a line cannot be used; says which, and why.
    """
    source = read_source(path)
    lines = list(read_lines(source.text))
    for line in lines:
        _check_fields(line)
    return _dataset(source, lines)


def _check_fields(line: Line) -> None:
    kind = line.text("type")
    if kind not in FIELDS:
        raise line.bad(f"unknown type {kind!r}; known are {', '.join(FIELDS)}")
    line.only(FIELDS[kind])


def _dataset(source: SourceFile, lines: Sequence[Line]) -> Dataset:
    headers = _of("dataset", lines)
    if len(headers) > 1:
        raise headers[1].bad("a second line of type 'dataset'; a file has one at most")
    by_conversation: dict[str, list[Line]] = {}
    for line in lines:
        if line.fields["type"] != "dataset":
            by_conversation.setdefault(line.text("conversation", _ONLY_CONVERSATION), []).append(line)
    return Dataset(
        name=headers[0].text("name", source.name) if headers else source.name,
        conversations=tuple(_conversation(name, theirs) for name, theirs in by_conversation.items()),
        place=_place(headers[0]) if headers else "message",
        checksum=source.checksum,
    )


def _place(header: Line) -> Place:
    place = header.text("place", "message")
    if place not in ("message", "exchange"):
        raise header.bad(f"'place' must be 'message' or 'exchange', not {place!r}")
    return cast(Place, place)


def _conversation(name: str, lines: Sequence[Line]) -> Conversation:
    starts = _starts(_unique("session", lines))
    said = _said(_unique("message", lines), starts)
    session_of = {message.id: session for session, theirs in said.items() for message in theirs if message.id}
    sessions = (Session(id=session, at=at, messages=tuple(said[session])) for session, at in starts.items())
    return Conversation(
        id=name,
        sessions=tuple(sorted(sessions, key=lambda session: session.at)),
        questions=tuple(_question(line, session_of) for line in _unique("question", lines)),
    )


def _of(kind: str, lines: Iterable[Line]) -> list[Line]:
    return [line for line in lines if line.fields["type"] == kind]


def _unique(kind: str, lines: Iterable[Line]) -> list[Line]:
    """The lines of a type, none of which may have the id of another."""
    first: dict[str, int] = {}
    found = _of(kind, lines)
    for line in found:
        name = line.text("id")
        if name in first:
            raise line.bad(f"the {kind} {name!r} is on line {first[name]} already")
        first[name] = line.number
    return found


def _starts(lines: Iterable[Line]) -> dict[str, datetime]:
    starts: dict[str, datetime] = {}
    for line in lines:
        at = line.moment("at")
        if at is None:
            raise line.bad("'at' is missing: a session needs the time it began")
        starts[line.text("id")] = at
    return starts


def _said(lines: Iterable[Line], starts: Mapping[str, datetime]) -> dict[str, list[Message]]:
    """The messages of each session, in the order of their lines; one without a time gets a second of its own."""
    said: dict[str, list[Message]] = {session: [] for session in starts}
    for line in lines:
        session = line.text("session")
        if session not in said:
            raise line.bad(f"no line declares the session {session!r} in this conversation")
        at = line.moment("at") or starts[session] + timedelta(seconds=len(said[session]))
        said[session].append(_message(line, at))
    return said


def _message(line: Line, at: datetime) -> Message:
    role = line.text("role", Role.USER.value)
    if role not in tuple(Role):
        raise line.bad(f"unknown role {role!r}; known are {', '.join(Role)}")
    return Message(
        id=line.text("id"),
        speaker=line.text("speaker"),
        role=Role(role),
        text=line.text("text"),
        at=at,
        captions=line.texts("captions"),
        important=line.flag("important"),
    )


def _question(line: Line, session_of: Mapping[str, str]) -> Question:
    evidence = tuple(dict.fromkeys(line.texts("evidence")))
    for name in evidence:
        if name not in session_of:
            raise line.bad(f"the evidence {name!r} names no message of this conversation")
    return Question(
        id=line.text("id"),
        text=line.text("text"),
        category=line.text("category"),
        at=line.moment("at"),
        answer=line.text("answer", ""),
        evidence=evidence,
        sessions=tuple(dict.fromkeys(session_of[name] for name in evidence)),
        unscored=None if evidence else "no evidence",
    )
