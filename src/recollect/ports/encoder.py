"""Messages to memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from recollect.domain.changes import Changeset
from recollect.domain.messages import Message
from recollect.store.protocol import StoreReader


class Encoder(Protocol):
    """Turns messages of one session into what a bank should store."""

    async def encode(
        self, messages: Sequence[Message], *, session: str, reader: StoreReader, now: datetime
    ) -> Changeset:
        """Derive a changeset; nothing is written.

        Raises:
            MessageConflict: a message's id is kept already, with other words.
            ModelUnavailable: the embedder could not be reached.
        """
        ...
