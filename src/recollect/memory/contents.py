"""Read the contents of a bank."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Session
from recollect.domain.checks import require_texts
from recollect.domain.entities import Merge
from recollect.domain.items import Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.memory.base import BankBase
from recollect.memory.name_lookup import find_entity_id
from recollect.memory.query_options import parse_kinds
from recollect.memory.transfer import export_lines


class BankContents(BankBase):
    """The contents of a bank. No method of this class writes."""

    async def items(self, *kinds: ItemKind | str, entity: str | None = None) -> list[Item]:
        """Return the items of some kinds that are not superseded, those that were said last first.

        Args:
            kinds: the kinds of items, as members of the enum or by their names.
            entity: return only items that mention this entity. Give its id, its name or any surface form.

        Raises:
            InvalidInput: a kind is unknown, or the bank has no entity of this name.
        """
        return await self._store.items_of(parse_kinds(kinds), entity=await find_entity_id(self._store, entity))

    async def observations(self, *, entity: str | None = None) -> list[Item]:
        """Return the observations that are not superseded: neutral summaries of what is known of entities.

        ``derived_from`` of an observation contains the ids of its facts. ``entity`` is as for :meth:`items`.
        """
        return await self.items(ItemKind.OBSERVATION, entity=entity)

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        """Return messages verbatim, by id or all of them, in the order in which they were stored."""
        return await self._store.messages(None if ids is None else require_texts("ids", ids))

    async def messages_of(self, sessions: str | Iterable[str]) -> list[StoredMessage]:
        """Return the messages of these sessions verbatim, in the order in which they were stored."""
        return await self._store.messages_of(require_texts("sessions", sessions))

    async def sessions(self) -> list[Session]:
        """Return the sessions that have messages, the earliest first."""
        return await self._store.sessions()

    async def merges(self) -> tuple[Merge, ...]:
        """Return every decision that a name means an entity with another name, with its scores. Undone merges are
        included.
        """
        return await self._store.merges()

    async def info(self) -> BankInfo:
        """Return the numbers of the bank, such as how many messages and items it has."""
        return await self._store.info()

    def export(self) -> AsyncIterator[str]:
        """Yield the whole bank as JSON Lines: the raw log and everything derived, with vectors."""
        return export_lines(self._store)
