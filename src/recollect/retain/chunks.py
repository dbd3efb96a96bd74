"""Parts of a conversation that a model reads at once, and the messages that its reply repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from recollect.domain.messages import Role, StoredMessage
from recollect.retain.directory import hash_short, normalize_surface
from recollect.retain.turns import render_message

_LONG_PIECE: Final = 20  # characters, with folded blanks: longer than a common phrase that two texts share by chance
_LONG_NUMBER: Final = 5  # digits: more than a year
_DIGITS: Final = re.compile(r"\d+")
_GROUPED: Final = re.compile(r"(?<!\d)\d++(?:[ .,/-]\d++)+")  # each digit is read once, however many there are


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Messages of one session to read, in order, after a few earlier ones that help to understand them.

    ``tokens`` is the cost of the messages. ``agent`` is the agent's name. ``named`` is true if somebody chose this name
    for the agent. Otherwise it is the bank's name, which may be the name of the person whom the bank is about. A
    speaker of that name is then not the agent.
    """

    context: tuple[StoredMessage, ...]
    messages: tuple[StoredMessage, ...]
    tokens: int
    agent: str
    names_agent: bool

    @property
    def session(self) -> str:
        return self.messages[0].session

    @property
    def subject(self) -> str:
        """Return the chunk's name in the ledger and in recordings: its session and its first position."""
        return f"{self.session}#{self.messages[0].position}"

    @property
    def key(self) -> str:
        """Return a hash of its messages for ids. So a second reading of the same messages replaces the first."""
        return hash_short(self.session, *(message.id for message in self.messages))

    @property
    def all_messages(self) -> tuple[StoredMessage, ...]:
        """Return the messages in the order in which they are numbered, from 1."""
        return (*self.context, *self.messages)

    def is_by_agent(self, message: StoredMessage) -> bool:
        """Return true if a message is from the bank's own agent: an assistant, or a speaker of the agent's name."""
        named = self.names_agent and normalize_surface(message.speaker) == normalize_surface(self.agent)
        return named or message.role is Role.ASSISTANT

    def get_messages(self, numbers: Sequence[int]) -> list[StoredMessage]:
        """Return the messages of these numbers, each once, in the order of the numbers."""
        return [self.all_messages[number - 1] for number in dict.fromkeys(numbers)]

    def require_numbers(self, numbers: Sequence[int], what: str) -> None:
        """Raise ValueError if these numbers of messages are not valid. ``what`` names the citing part of the reply.

        Raises:
            ValueError: a number belongs to no message, or all belong to the context, which was read before.
        """
        if max(numbers) > len(self.all_messages):
            raise ValueError(f"{what} names message {max(numbers)}; they are numbered 1 to {len(self.all_messages)}")
        if max(numbers) <= len(self.context):
            raise ValueError(f"{what} comes from messages of the context alone; leave it out")


def cut_by_budget(costs: Sequence[int], budget: int) -> list[range]:
    """Return ranges of neighbours that cost at most the budget together.

    A neighbour above the budget has its own range.
    """
    starts, spent = [0] if costs else [], 0
    for place, cost in enumerate(costs):
        if place and spent + cost > budget:
            starts.append(place)
            spent = 0
        spent += cost
    return [range(start, stop) for start, stop in pairwise([*starts, len(costs)])]


def find_quoted(text: str, cited: Sequence[StoredMessage], shown: Sequence[StoredMessage]) -> list[StoredMessage]:
    """Return the messages that a text repeats but does not cite.

    The text repeats a message if both contain the same long number, or the same long piece word for word, and no cited
    message contains it. Everything that comes from a message must be removed with it, even if a model does not cite it.
    """
    said, known = _fold_text(text), [_fold_text(render_message(message)) for message in cited]
    pieces = _list_pieces(said).difference(*map(_list_pieces, known))
    numbers = _find_numbers(said).difference(*map(_find_numbers, known))
    others = [(message, _fold_text(render_message(message))) for message in shown if message not in cited]
    return [
        message
        for message, words in others
        if not numbers.isdisjoint(_find_numbers(words)) or not pieces.isdisjoint(_list_pieces(words))
    ]


def _fold_text(text: str) -> str:
    return " ".join(text.casefold().split())


def _list_pieces(text: str) -> set[str]:
    """Return every long piece of a text, so that looking for many pieces in many texts takes linear time."""
    return {text[at : at + _LONG_PIECE] for at in range(len(text) - _LONG_PIECE + 1)}


def _find_numbers(text: str) -> set[str]:
    """Return the long numbers of a text as digits alone, however they are grouped."""
    runs = {run for run in _DIGITS.findall(text) if len(run) >= _LONG_NUMBER}
    grouped = {"".join(_DIGITS.findall(found)) for found in _GROUPED.findall(text)}
    return runs | {number for number in grouped if len(number) >= _LONG_NUMBER}
