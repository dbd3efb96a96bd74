"""Keep the names that a bank knows: read them once, and then update them with each write."""

from __future__ import annotations

import secrets

from recollect.retain.directory import EntityDirectory, Resolution
from recollect.store.protocol import Lookup, StoreReader

_REMEMBERED = 64


class DirectoryCache:
    """A bank's directory of entities, shared by all objects in this process that derive changes to the bank.

    The time to read it again grows with the number of entities. So it is read again only after somebody else has
    written. Every change is derived from the newest version, so the last write is one of the proposals.
    """

    def __init__(self) -> None:
        self._directory = EntityDirectory()
        self._version = -1
        self._proposals: dict[str, Resolution] = {}

    async def directory_at(self, known: Lookup, reader: StoreReader) -> EntityDirectory:
        """Return the directory at a version of the bank."""
        if self._version == known.version:
            return self._directory
        written = self._proposals.get(known.author)
        if written is not None and self._version == known.version - 1:
            self._directory.apply(written)
        else:
            tables = await reader.entity_tables()
            self._directory = EntityDirectory(tables.entities, tables.aliases, tables.pairs, tables.undone)
        self._version = known.version
        self._proposals.clear()
        return self._directory

    def propose_change(self, resolution: Resolution) -> str:
        """Remember a resolution that is about to be written. Return the author under which to write it."""
        author = secrets.token_hex(8)
        if len(self._proposals) == _REMEMBERED:
            self._proposals.pop(next(iter(self._proposals)))
        self._proposals[author] = resolution
        return author
