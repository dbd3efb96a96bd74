"""Find the session and the entity that a caller means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.domain.checks import require_text
from recollect.domain.messages import Message
from recollect.errors import InvalidInput
from recollect.store.protocol import StoreReader


async def find_entity_id(reader: StoreReader, name: str | None) -> str | None:
    """Return the id of an entity from its id, its name or any surface form, in any case. Return ``None`` for ``None``.

    Raises:
        InvalidInput: the bank has no entity of this name.
    """
    if name is None:
        return None
    tables = await reader.entity_tables()
    wanted = require_text("entity", name).casefold()
    for entity in tables.entities:
        if entity.id == name or entity.name.casefold() == wanted:
            return entity.id
    for owner, surface, _ in tables.aliases:
        if surface.casefold() == wanted:
            return owner
    raise InvalidInput(f"the bank has no entity named {name!r}")


def choose_session_name(messages: Sequence[Message], session: str | None, now: datetime) -> str:
    """Return the session of some messages: the given name, or the day of the first message.

    Raises:
        InvalidInput: the name is blank.
    """
    if session is not None:
        if not require_text("session", session).strip():
            raise InvalidInput("the name of a session cannot be blank. Leave it out to name the session after the day")
        return session
    first = messages[0].at if messages else None
    return (first or now).date().isoformat()
