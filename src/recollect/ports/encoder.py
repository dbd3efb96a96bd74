"""Messages to memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from recollect.domain.changes import Changeset
from recollect.domain.messages import Message
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import StoreReader


class Encoder(Protocol):
    """Turns messages of one session into what a bank should store.

    Nothing here writes, and nothing needs a language model. The bank commits what is derived, with the version that it
    had before the reader was used: where somebody else was faster, the encoder is asked again.
    """

    async def encode(
        self, messages: Sequence[Message], *, session: str, reader: StoreReader, now: datetime
    ) -> Changeset:
        """Derive a changeset; nothing is written.

        Raises:
            MessageConflict: a message's id is kept already, with other words.
            ModelUnavailable: the embedder could not be reached.
        """
        ...

    async def encode_remaining(self, plan: ForgetPlan, *, reader: StoreReader) -> Changeset:
        """Derive anew what is left of ``plan``: of things that lose some of their messages, but not all.

        What goes is still in the bank meanwhile. An encoder that keeps no turns and no segments is not asked.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...

    async def catch_up(self, *, reader: StoreReader) -> Changeset:
        """Derive what this encoder would have made of messages that were kept under another; empty where it made all.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...
