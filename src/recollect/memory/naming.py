"""Which entity a caller means."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.store.protocol import StoreReader


async def entity_id_of(reader: StoreReader, name: str | None) -> str | None:
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
