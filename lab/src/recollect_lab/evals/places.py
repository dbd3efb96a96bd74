"""From ranked evidence to ranked places, so that systems with items of any size can be compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.domain.messages import Role
from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import DatasetConversation, DatasetSession, PlaceUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceMap:
    """Where each message of a conversation counts: message id to place, and message id to session."""

    places: Mapping[str, str]
    sessions: Mapping[str, str]


def map_places(conversation: DatasetConversation, place: PlaceUnit) -> PlaceMap:
    """Map the messages of a conversation to places and sessions.

    With "message" every message is its own place. With "exchange" a place is named after the message that opens it:
    a user message opens one, what others answer belongs to it, and what comes before a session's first user message
    is an exchange of its own. No exchange spans two sessions.
    """
    places: dict[str, str] = {}
    sessions: dict[str, str] = {}
    for session in conversation.sessions:
        places.update(
            _map_exchanges(session) if place == "exchange" else {name: name for name in _message_ids(session)}
        )
        sessions.update(dict.fromkeys(_message_ids(session), session.id))
    return PlaceMap(places=places, sessions=sessions)


def rank_places(sources: Iterable[Sequence[str]], where: Mapping[str, str]) -> tuple[str, ...]:
    """Rank places (or sessions) by first appearance.

    ``sources`` are the message ids of each piece of evidence, best piece first. A piece that spans two places takes
    two, in the order of its sources; a place that is there already is not repeated and takes no rank.

    Raises:
        InvalidInput: a source is no message of the conversation. To skip it would count a bank that gives
            wrong ids as one that finds nothing.
    """
    found: dict[str, None] = {}
    for piece in sources:
        for message in piece:
            if message not in where:
                raise InvalidInput(
                    f"the bank returned {message!r} as a source, which is no message of the conversation"
                )
            found[where[message]] = None
    return tuple(found)


def _message_ids(session: DatasetSession) -> list[str]:
    return [message.id for message in session.messages if message.id is not None]


def _map_exchanges(session: DatasetSession) -> dict[str, str]:
    places: dict[str, str] = {}
    opener: str | None = None
    for message in session.messages:
        if message.id is None:
            continue
        if opener is None or message.role is Role.USER:
            opener = message.id
        places[message.id] = opener
    return places
