"""The port from messages to items."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from recollect.domain.changes import Changeset
from recollect.domain.messages import Message, StoredMessage
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import StoreReader


class Encoder(Protocol):
    """Derives the changes of a bank from messages of one session.

    An encoder does not write, and it needs no language model. The bank commits the changes with the version that it had
    before the encoder read it. If another writer was faster, the encoder is called again.
    """

    async def encode(
        self, messages: Sequence[Message], *, session: str, reader: StoreReader, now: datetime
    ) -> Changeset:
        """Derive a changeset. Nothing is written.

        Raises:
            MessageConflict: the bank has a message with the same id and other words.
            ModelUnavailable: the embedder could not be reached.
        """
        ...

    async def encode_remaining(self, plan: ForgetPlan, *, reader: StoreReader) -> Changeset:
        """Encode again the rest of the items and segments in ``plan``, which lose some of their messages, but not all.

        Everything that will be forgotten is still in the bank. An encoder without turns and segments is not called.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...

    async def catch_up(self, *, reader: StoreReader) -> Changeset:
        """Derive what this encoder would have made of messages that were stored under another recipe.

        The changeset is empty if nothing is missing.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...

    async def encode_stored(self, messages: Sequence[StoredMessage], *, reader: StoreReader) -> Changeset:
        """Derive what :meth:`encode` would have made of messages that the bank has stored without any item.

        A program that was killed may have left them. They may be of several sessions, and need not be whole sessions.
        The messages themselves are not in the changeset.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...
