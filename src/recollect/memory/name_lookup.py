"""Which session and which entity a caller means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.domain.messages import Message
from recollect.errors import InvalidInput
from recollect.store.protocol import StoreReader


async def find_entity_id(reader: StoreReader, name: str | None) -> str | None:
    """The id of an entity by its id, its name or any surface form, whatever the case; ``None`` for none.

    Raises:
        InvalidInput: the bank knows nobody and nothing of that name.
    """
    if name is None:
        return None
    tables = await reader.entity_tables()
    wanted = name.casefold()
    for entity in tables.entities:
        if entity.id == name or entity.name.casefold() == wanted:
            return entity.id
    for owner, surface, _ in tables.aliases:
        if surface.casefold() == wanted:
            return owner
    raise InvalidInput(f"the bank knows no {name!r}")


def choose_session_name(messages: Sequence[Message], session: str | None, now: datetime) -> str:
    """The name of the session that messages belong to: the one given, else the day of the first of them.

    Raises:
        InvalidInput: the name is blank.
    """
    if session is not None:
        if not session.strip():
            raise InvalidInput("a session's name cannot be blank; leave it out to have it named after the day")
        return session
    first = messages[0].at if messages else None
    return (first or now).date().isoformat()
