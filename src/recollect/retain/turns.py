"""Group messages into turns: RecMem's units of interaction (section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.domain.items import Item
from recollect.domain.messages import Role, StoredMessage
from recollect.errors import NotABank

PASSAGE_CHARACTERS = 6000
_MOST_PASSAGES = 1_000_000  # more than a message can have: SQLite stores at most a gigabyte in one value
_CUTS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPart:
    """A message, or a passage of a message that is too long to be found as a whole.

    ``number`` counts passages from 0.
    """

    message: StoredMessage
    text: str
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A unit of the index: a message with the assistant's answer to it, or one message between people."""

    parts: tuple[TurnPart, ...]

    @property
    def id(self) -> str:
        """Return the turn's id: the number of the passage and then the message's id, which may contain any character.

        So no two turns have the same id.
        """
        first = self.parts[0]
        return f"turn:{first.number}:{first.message.id}"

    @property
    def order(self) -> int:
        """Return the turn's place in its session.

        It depends only on the first part. So it stays the same if messages around it are forgotten.
        """
        first = self.parts[0]
        return first.message.position * _MOST_PASSAGES + first.number

    @property
    def text(self) -> str:
        """Return the first part's words as they are, and then every answer after its speaker's name."""
        first, *rest = self.parts
        return "\n".join([first.text, *(f"{part.message.speaker}: {part.text}" for part in rest)])


def group_turns(messages: Sequence[StoredMessage], *, last: Turn | None) -> list[Turn]:
    """Group a session's new messages into turns.

    An assistant's message joins the turn before it. If this turn is ``last``, it is returned again with the answer in
    it. Every other message begins a turn. So turns do not depend on how messages are split over calls.
    """
    turns: list[Turn] = [] if last is None else [last]
    for message in messages:
        for part in split_parts(message):
            if turns and is_answer_to(turns[-1], part):
                turns[-1] = Turn(parts=(*turns[-1].parts, part))
            else:
                turns.append(Turn(parts=(part,)))
    return turns[1:] if turns and turns[0] is last else turns


def is_answer_to(turn: Turn, part: TurnPart) -> bool:
    """Return true if a part belongs to the turn before it.

    An answer does, if the whole is at most two passages long.
    """
    if part.message.role is not Role.ASSISTANT or part.number:
        return False
    return len(turn.text) + len(part.text) <= 2 * PASSAGE_CHARACTERS


def split_parts(message: StoredMessage) -> Iterator[TurnPart]:
    """Yield a message as passages of at most :data:`PASSAGE_CHARACTERS`, cut if possible after a paragraph.

    Otherwise it is cut after a line, a sentence or a word, if possible.
    """
    text = render_message(message)
    start = number = 0
    while len(text) - start > PASSAGE_CHARACTERS:
        cut = _find_cut(text, start)
        yield TurnPart(message=message, text=text[start:cut], number=number)
        start, number = cut, number + 1
    yield TurnPart(message=message, text=text[start:], number=number)


def render_message(message: StoredMessage) -> str:
    """Return a message's words together with the captions of its pictures."""
    return message.text + render_captions(message)


def render_captions(message: StoredMessage) -> str:
    """Return the captions of a message's pictures, one on each line."""
    return "".join(f"\n[{caption}]" for caption in message.captions)


def _find_cut(text: str, start: int) -> int:
    """Return the end of the passage that begins at ``start``."""
    end = start + PASSAGE_CHARACTERS
    for mark in _CUTS:
        at = text.rfind(mark, start + PASSAGE_CHARACTERS // 2, end)
        if at > 0:
            return at + len(mark)
    return end


def restore_turn(item: Item, sources: Sequence[StoredMessage]) -> Turn:
    """Return the turn of a stored item. ``sources`` are those of its messages that are left.

    Raises:
        NotABank: the item is no turn any more, because the bank's file is damaged.
    """
    by_id = {message.id: message for message in sources}
    try:
        number = int(item.id.split(":", 2)[1])
        opening, *rest = item.sources
    except (ValueError, IndexError) as exc:
        raise NotABank(f"the bank is damaged: its item {item.id!r} has no number or no message") from exc
    parts = [part for part in split_parts(by_id[opening]) if part.number == number] if opening in by_id else []
    answers = (next(split_parts(by_id[source])) for source in rest if source in by_id)
    return Turn(parts=(*parts, *answers))


def list_earlier_turns(turn: Turn) -> list[tuple[datetime, Turn]]:
    """Return the states of a turn before its answers were recorded, each with its end time, the oldest first."""
    found: list[tuple[datetime, Turn]] = []
    known = turn.parts[0].message.recorded
    for place, part in enumerate(turn.parts):
        if part.message.recorded > known:
            known = part.message.recorded
            found.append((known, Turn(parts=turn.parts[:place])))
    return found
