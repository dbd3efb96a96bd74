"""The neutral format: JSON Lines of sessions, messages and questions (docs/reference/eval-formats.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from recollect.domain.messages import Message, Role
from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion, DatasetSession, PlaceUnit
from recollect_lab.datasets.files import SourceFile, read_source
from recollect_lab.datasets.lines import DatasetLine, read_lines

FIELDS: Mapping[str, frozenset[str]] = {
    "dataset": frozenset({"type", "name", "place"}),
    "session": frozenset({"type", "id", "at", "conversation"}),
    "message": frozenset(
        {"type", "id", "session", "speaker", "role", "text", "at", "captions", "important", "conversation"}
    ),
    "question": frozenset({"type", "id", "text", "at", "category", "answer", "evidence", "conversation"}),
}
"""The types of lines, and the allowed fields of each."""

_ONLY_CONVERSATION = "conversation"


def load_jsonl(path: Path) -> Dataset:
    """Read a file in the neutral format, gzip or plain. Lines may come in any order.

    Raises:
        InvalidInput: the file cannot be read.
        MalformedLine: a line cannot be used. The message has its number and the reason.
    """
    source = read_source(path)
    lines = list(read_lines(source.text))
    for line in lines:
        _check_fields(line)
    return _make_dataset(source, lines)


def _check_fields(line: DatasetLine) -> None:
    kind = line.read_text("type")
    if kind not in FIELDS:
        raise line.make_error(f"unknown type {kind!r}; the known types are {', '.join(FIELDS)}")
    line.require_known(FIELDS[kind])


def _make_dataset(source: SourceFile, lines: Sequence[DatasetLine]) -> Dataset:
    headers = _select_type("dataset", lines)
    if len(headers) > 1:
        raise headers[1].make_error("a second line of type 'dataset', but a file has at most one")
    by_conversation: dict[str, list[DatasetLine]] = {}
    for line in lines:
        if line.fields["type"] != "dataset":
            by_conversation.setdefault(line.read_text("conversation", _ONLY_CONVERSATION), []).append(line)
    return Dataset(
        name=headers[0].read_text("name", source.name) if headers else source.name,
        conversations=tuple(_read_conversation(name, theirs) for name, theirs in by_conversation.items()),
        place=_read_place(headers[0]) if headers else "message",
        checksum=source.checksum,
    )


def _read_place(header: DatasetLine) -> PlaceUnit:
    place = header.read_text("place", "message")
    if place not in ("message", "exchange"):
        raise header.make_error(f"'place' must be 'message' or 'exchange', not {place!r}")
    return cast(PlaceUnit, place)


def _read_conversation(name: str, lines: Sequence[DatasetLine]) -> DatasetConversation:
    starts = _read_starts(_select_unique("session", lines))
    said = _read_messages(_select_unique("message", lines), starts)
    session_of = {message.id: session for session, theirs in said.items() for message in theirs if message.id}
    sessions = (DatasetSession(id=session, at=at, messages=tuple(said[session])) for session, at in starts.items())
    return DatasetConversation(
        id=name,
        sessions=tuple(sorted(sessions, key=lambda session: session.at)),
        questions=tuple(_read_question(line, session_of) for line in _select_unique("question", lines)),
    )


def _select_type(kind: str, lines: Iterable[DatasetLine]) -> list[DatasetLine]:
    return [line for line in lines if line.fields["type"] == kind]


def _select_unique(kind: str, lines: Iterable[DatasetLine]) -> list[DatasetLine]:
    """Return the lines of a type. Raise MalformedLine if two of them have the same id."""
    first: dict[str, int] = {}
    found = _select_type(kind, lines)
    for line in found:
        name = line.read_text("id")
        if name in first:
            raise line.make_error(f"the {kind} {name!r} is on line {first[name]} already")
        first[name] = line.number
    return found


def _read_starts(lines: Iterable[DatasetLine]) -> dict[str, datetime]:
    starts: dict[str, datetime] = {}
    for line in lines:
        at = line.read_moment("at")
        if at is None:
            raise line.make_error("'at' is missing: a session needs its start time")
        starts[line.read_text("id")] = at
    return starts


def _read_messages(lines: Iterable[DatasetLine], starts: Mapping[str, datetime]) -> dict[str, list[Message]]:
    """Return the messages of each session, in the order of their lines.

    The n-th message of a session without a time gets the time of the session plus n seconds, with n counted from 0.
    """
    said: dict[str, list[Message]] = {session: [] for session in starts}
    for line in lines:
        session = line.read_text("session")
        if session not in said:
            raise line.make_error(f"no line declares the session {session!r} in this conversation")
        at = line.read_moment("at") or starts[session] + timedelta(seconds=len(said[session]))
        said[session].append(_read_message(line, at))
    return said


def _read_message(line: DatasetLine, at: datetime) -> Message:
    role = line.read_text("role", Role.USER.value)
    if role not in tuple(Role):
        raise line.make_error(f"unknown role {role!r}; the known roles are {', '.join(Role)}")
    return Message(
        id=line.read_text("id"),
        speaker=line.read_text("speaker"),
        role=Role(role),
        text=line.read_text("text"),
        at=at,
        captions=line.read_texts("captions"),
        important=line.read_flag("important"),
    )


def _read_question(line: DatasetLine, session_of: Mapping[str, str]) -> DatasetQuestion:
    evidence = tuple(dict.fromkeys(line.read_texts("evidence")))
    for name in evidence:
        if name not in session_of:
            raise line.make_error(f"the evidence {name!r} names no message of this conversation")
    return DatasetQuestion(
        id=line.read_text("id"),
        text=line.read_text("text"),
        category=line.read_text("category"),
        at=line.read_moment("at"),
        answer=line.read_text("answer", ""),
        evidence=evidence,
        sessions=tuple(dict.fromkeys(session_of[name] for name in evidence)),
        unscored=None if evidence else "no evidence",
    )
