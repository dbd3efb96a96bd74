"""Turn ranked evidence into ranked places, so that systems with items of any size can be compared. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.domain.messages import Role
from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import DatasetConversation, DatasetSession, PlaceUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceMap:
    """The place and the session of each message of a conversation, by the message's id."""

    places: Mapping[str, str]
    sessions: Mapping[str, str]


def map_places(conversation: DatasetConversation, place: PlaceUnit) -> PlaceMap:
    """Map the messages of a conversation to places and sessions.

    If places are messages, every message is its own place. If places are exchanges, each is named after its first
    message. A user message begins an exchange, and the answers of others belong to it. Messages before the first user
    message of a session are one exchange. No exchange spans two sessions.
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
    """Rank places (or sessions) by their first appearance.

    ``sources`` are the message ids of each piece of evidence, the best piece first. A piece that spans two places takes
    two ranks, in the order of its sources. A place that was ranked before is not repeated, and takes no rank.

    Raises:
        InvalidInput: a source is not a message of the conversation. If it were skipped, a bank that returns wrong ids
            would look like a bank that finds nothing.
    """
    found: dict[str, None] = {}
    for piece in sources:
        for message in piece:
            if message not in where:
                raise InvalidInput(
                    f"the bank returned {message!r} as a source, which is not a message of the conversation"
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
