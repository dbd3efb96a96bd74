"""Read chat text: one ``Name: words`` on a line, with or without times before it, with or without date headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from itertools import chain, islice

from recollect.domain.messages import Role
from recollect.errors import MalformedLine
from recollect.formats import timestamps
from recollect.formats.lines import InputLine, quote_value
from recollect.formats.message_times import GivenMoment, SessionClock
from recollect.formats.speakers import find_speakers, infer_role, is_known_speaker, split_speaker
from recollect.formats.timestamps import DateOrder
from recollect.formats.utterances import Utterance

HEAD_LINES = 500
"""The number of lines that are examined before the first message, to learn the speakers and the order of dates."""

_SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChatStyle:
    """The conventions of a whole chat, learned from its first lines."""

    speakers: frozenset[str]
    order: DateOrder | None
    zone: tzinfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    session: str
    moment: GivenMoment


@dataclass(frozen=True, slots=True, kw_only=True)
class _MessageStart:
    speaker: str
    role: Role
    words: str
    moment: GivenMoment | None


def read_utterances(lines: Iterator[InputLine], zone: tzinfo | None) -> Iterator[Utterance]:
    """Yield one message after another. The first ``HEAD_LINES`` lines are examined before the first message.

    Raises:
        MalformedLine: a time has no zone, does not exist, or does not show which number is the day; or text stands
            before the first speaker's name.
    """
    head = tuple(islice(lines, HEAD_LINES))
    habits = _infer_style(head, zone)
    talk = _ChatReader()
    for line in chain(head, lines):
        match _parse_line(line, habits):
            case _Heading() as heading:
                yield from talk.finish_message()
                talk.start_session(heading)
            case _MessageStart() as said:
                yield from talk.finish_message()
                talk.start_message(said)
            case None:
                talk.continue_message(line)
    yield from talk.finish_message()


def _infer_style(head: Sequence[InputLine], zone: tzinfo | None) -> _ChatStyle:
    told = [line for line in head if not line.is_blank and timestamps.parse_heading(line.text) is None]
    stamped = [(line.number, found[0]) for line in told if (found := timestamps.split_timestamp(line.text))]
    return _ChatStyle(
        speakers=find_speakers([line.text for line in told]), order=timestamps.infer_date_order(stamped), zone=zone
    )


def _parse_line(line: InputLine, habits: _ChatStyle) -> _Heading | _MessageStart | None:
    """Return the heading or the message that a line opens, or ``None`` if the line continues the message before it."""
    bad = partial(MalformedLine, line.number)
    stamp = timestamps.parse_heading(line.text)
    if stamp:
        return _Heading(session=stamp.session_name(), moment=stamp.resolve_moment(None, habits.zone, bad))
    stamped = timestamps.split_timestamp(line.text)
    if stamped:
        return _open_timed_message(stamped[1], stamped[0].resolve_moment(habits.order, habits.zone, bad))
    found = split_speaker(line.text)
    if found is None or not is_known_speaker(found[0], habits.speakers):
        return None
    return _MessageStart(speaker=found[0], role=infer_role(found[0]), words=found[1], moment=None)


def _open_timed_message(rest: str, moment: GivenMoment) -> _MessageStart:
    """Return the opening of a line with a time. A line without a name is a notice, such as "Ben joined the group"."""
    found = split_speaker(rest, timed=True)
    if found is None:
        return _MessageStart(speaker=_SYSTEM, role=Role.SYSTEM, words=rest, moment=moment)
    return _MessageStart(speaker=found[0], role=infer_role(found[0]), words=found[1], moment=moment)


class _ChatReader:
    """The message that is being read, with its session and its time."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._sitting = SessionClock()
        self._opening: _MessageStart | None = None
        self._lines: list[str] = []

    def start_session(self, heading: _Heading) -> None:
        """Open a session at a heading."""
        self._session, self._sitting = heading.session, SessionClock(heading.moment.at)

    def start_message(self, said: _MessageStart) -> None:
        """Open a message."""
        self._opening, self._lines = said, [said.words]

    def continue_message(self, line: InputLine) -> None:
        """Add a line to the open message."""
        if self._opening:
            self._lines.append(line.text)
        elif not line.is_blank:
            raise MalformedLine(
                line.number,
                f"nobody says {quote_value(line.text)}; a chat opens with a name, "
                f"as in 'Ada: hello' or '[2023-07-11 18:05] Ada: hello'",
            )

    def finish_message(self) -> Iterator[Utterance]:
        """Yield the message that ends here, unless it has no words."""
        said, self._opening = self._opening, None
        text = "\n".join(self._lines).strip()
        if said and text:
            moment = said.moment
            yield Utterance(
                session=self._session,
                speaker=said.speaker,
                role=said.role,
                text=text,
                at=self._sitting.next_time(moment.at if moment else None),
                stamp=moment.given if moment else "",
            )
