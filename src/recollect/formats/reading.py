"""Read a conversation of any format as a stream of messages with their sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain

from recollect.domain.messages import Message
from recollect.errors import InvalidInput, NaiveDatetime
from recollect.formats import chat, jsonl, openai
from recollect.formats.detection import Format, detect_format
from recollect.formats.lines import InputLine, number_lines
from recollect.formats.utterances import FormatReader, MessageIds, Utterance, replace_surrogates

READERS: Mapping[Format, FormatReader] = {
    Format.JSONL: jsonl.read_utterances,
    Format.OPENAI: openai.read_utterances,
    Format.CHAT: chat.read_utterances,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMessage:
    """A message with its time and its id, and its session."""

    session: str
    message: Message


def read_messages(
    stream: Iterable[str],
    *,
    format: Format | None = None,  # noqa: A002  (the word users know)
    session: str | None = None,
    zone: tzinfo | None = None,
    now: datetime,
) -> Iterator[SessionMessage]:
    """Yield the messages of an open text file, or of any iterable of lines.

    ``format`` is detected if it is not given. ``session`` replaces the sessions of the input. If neither names a
    session, the date of the first message does. ``zone`` is the zone of times that name none. A message without any
    time gets ``now`` (aware). Nothing is read before the first message is asked for. After that, no more is read than
    necessary: 500 lines ahead for chat text, and the whole document for an OpenAI document.

    Raises:
        NaiveDatetime: ``now`` has no zone.
        InvalidInput: during reading; the input is not text, or an element of an OpenAI list cannot be used.
        MalformedLine: during reading; a line cannot be used. The error says which line, why, and what to do.
    """
    if now.tzinfo is None:
        raise NaiveDatetime("now")
    if isinstance(stream, str):
        raise InvalidInput("read() takes an open file or an iterable of lines, not a string; give text.splitlines()")
    if session is not None and not session.strip():
        raise InvalidInput("the session's name is blank; leave it out, or give it a name")
    return _read_format(number_lines(stream), format, session, zone, now)


def _read_format(
    lines: Iterator[InputLine], given: Format | None, session: str | None, zone: tzinfo | None, now: datetime
) -> Iterator[SessionMessage]:
    first = next((line for line in lines if not line.is_blank), None)
    if first is None:
        return
    reader = READERS[given or detect_format(first.text)]
    yield from _assign_sessions(reader(chain((first,), lines), zone), session, now)


def _assign_sessions(utterances: Iterator[Utterance], session: str | None, now: datetime) -> Iterator[SessionMessage]:
    """Yield each utterance as a message with its session, time and id."""
    ids = MessageIds()
    day: str | None = None
    for said in utterances:
        at = said.at or now
        day = day or at.date().isoformat()
        yield _make_message(said, replace_surrogates(session or said.session or day), at, ids)


def _make_message(said: Utterance, session: str, at: datetime, ids: MessageIds) -> SessionMessage:
    speaker, text = replace_surrogates(said.speaker), replace_surrogates(said.text)
    known = said.id if said.id is None else replace_surrogates(said.id)
    message = Message(
        id=known or ids.make_id(session=session, speaker=speaker, stamp=replace_surrogates(said.stamp), text=text),
        speaker=speaker,
        role=said.role,
        text=text,
        at=at,
        captions=tuple(replace_surrogates(caption) for caption in said.captions),
        important=said.important,
    )
    return SessionMessage(session=session, message=message)
