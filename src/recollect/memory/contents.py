"""What a bank holds, for whoever looks into it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from recollect.domain.banks import BankInfo, Profile
from recollect.domain.changes import Session
from recollect.domain.entities import Merge
from recollect.domain.items import Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.memory.name_lookup import find_entity_id
from recollect.memory.query_options import normalize_names, parse_kinds
from recollect.memory.transfer import export_lines
from recollect.store.profile_setting import read_profile
from recollect.store.protocol import Store


class BankContents:
    """A bank's contents; nothing here writes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def name(self) -> str:
        return self._store.name

    async def items(self, *kinds: ItemKind | str, entity: str | None = None) -> list[Item]:
        """Items of some kinds that hold now, what was said last first.

        ``entity``: only those that mention it, by id, name or any surface form.

        Raises:
            InvalidInput: a kind is unknown, or the bank knows nobody and nothing of that name.
        """
        return await self._store.items_of(parse_kinds(kinds), entity=await find_entity_id(self._store, entity))

    async def observations(self, *, entity: str | None = None) -> list[Item]:
        """Neutral summaries of what is known of entities, those in force; ``derived_from`` are the facts."""
        return await self.items(ItemKind.OBSERVATION, entity=entity)

    async def profile(self) -> Profile:
        """Who the bank's agent is: name, background, disposition."""
        return await read_profile(self._store)

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        """Messages as they were given, by id, or all, in the order in which they were kept."""
        return await self._store.messages(ids)

    async def messages_of(self, sessions: str | Iterable[str]) -> list[StoredMessage]:
        """The messages of these sessions as they were given, in the order in which they were kept."""
        return await self._store.messages_of(normalize_names(sessions))

    async def sessions(self) -> list[Session]:
        """The sessions that have messages, what began first first."""
        return await self._store.sessions()

    async def merges(self) -> tuple[Merge, ...]:
        """Every decision that a name means an entity known by another, with its scores; undone ones too."""
        return await self._store.merges()

    async def info(self) -> BankInfo:
        """The bank in numbers."""
        return await self._store.info()

    def export(self) -> AsyncIterator[str]:
        """The whole bank as JSON Lines: the raw log and everything derived, vectors included."""
        return export_lines(self._store)
