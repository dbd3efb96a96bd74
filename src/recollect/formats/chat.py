"""Read chat text: one ``Name: words`` on a line, with or without times before it, with or without date headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from itertools import chain, islice

from recollect.domain.messages import Role
from recollect.errors import MalformedLine
from recollect.formats import stamps
from recollect.formats.lines import Line, shown
from recollect.formats.moments import Moment, Sitting
from recollect.formats.speakers import is_speaker, known_speakers, opening, role_of
from recollect.formats.stamps import Order
from recollect.formats.utterances import Utterance

HEAD_LINES = 500
"""The number of lines that are examined before the first message, to learn the speakers and the order of dates."""

_SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Habits:
    """The conventions of a whole chat, learned from its first lines."""

    speakers: frozenset[str]
    order: Order | None
    zone: tzinfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    session: str
    moment: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    speaker: str
    role: Role
    words: str
    moment: Moment | None


def utterances(lines: Iterator[Line], zone: tzinfo | None) -> Iterator[Utterance]:
    """Yield one message after another. The first ``HEAD_LINES`` lines are examined before the first message.

    Raises:
        MalformedLine: a time has no zone, does not exist, or does not show which number is the day; or text stands
            before the first speaker's name.
    """
    head = tuple(islice(lines, HEAD_LINES))
    habits = _habits(head, zone)
    talk = _Talk()
    for line in chain(head, lines):
        match _parsed(line, habits):
            case _Heading() as heading:
                yield from talk.closed()
                talk.under(heading)
            case _Opening() as said:
                yield from talk.closed()
                talk.opened(said)
            case None:
                talk.went_on(line)
    yield from talk.closed()


def _habits(head: Sequence[Line], zone: tzinfo | None) -> _Habits:
    told = [line for line in head if not line.blank and stamps.heading(line.text) is None]
    stamped = [(line.number, found[0]) for line in told if (found := stamps.split(line.text))]
    return _Habits(speakers=known_speakers([line.text for line in told]), order=stamps.order_of(stamped), zone=zone)


def _parsed(line: Line, habits: _Habits) -> _Heading | _Opening | None:
    """Return the heading or the message that a line opens, or ``None`` if the line continues the message before it."""
    bad = partial(MalformedLine, line.number)
    stamp = stamps.heading(line.text)
    if stamp:
        return _Heading(session=stamp.day(), moment=stamp.moment(None, habits.zone, bad))
    stamped = stamps.split(line.text)
    if stamped:
        return _timed(stamped[1], stamped[0].moment(habits.order, habits.zone, bad))
    found = opening(line.text)
    if found is None or not is_speaker(found[0], habits.speakers):
        return None
    return _Opening(speaker=found[0], role=role_of(found[0]), words=found[1], moment=None)


def _timed(rest: str, moment: Moment) -> _Opening:
    """Return the opening of a line with a time. A line without a name is a notice, such as "Ben joined the group"."""
    found = opening(rest, timed=True)
    if found is None:
        return _Opening(speaker=_SYSTEM, role=Role.SYSTEM, words=rest, moment=moment)
    return _Opening(speaker=found[0], role=role_of(found[0]), words=found[1], moment=moment)


class _Talk:
    """The message that is being read, with its session and its time."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._sitting = Sitting()
        self._opening: _Opening | None = None
        self._lines: list[str] = []

    def under(self, heading: _Heading) -> None:
        """Open a session at a heading."""
        self._session, self._sitting = heading.session, Sitting(heading.moment.at)

    def opened(self, said: _Opening) -> None:
        """Open a message."""
        self._opening, self._lines = said, [said.words]

    def went_on(self, line: Line) -> None:
        """Add a line to the open message."""
        if self._opening:
            self._lines.append(line.text)
        elif not line.blank:
            raise MalformedLine(
                line.number,
                f"nobody says {shown(line.text)}; a chat opens with a name, "
                f"as in 'Ada: hello' or '[2023-07-11 18:05] Ada: hello'",
            )

    def closed(self) -> Iterator[Utterance]:
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
                at=self._sitting.time(moment.at if moment else None),
                stamp=moment.given if moment else "",
            )
