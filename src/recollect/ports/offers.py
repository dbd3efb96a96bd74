"""What a recipe may offer beside keeping, finding and answering: tools for agents, beliefs, calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from recollect.domain.calibration import Calibration
from recollect.domain.opinions import Opinion
from recollect.domain.queries import Query
from recollect.store.protocol import StoreReader


class ToolReply(Protocol):
    """What a tool gives back; ``text`` is what the model reads."""

    @property
    def text(self) -> str: ...


class AgentTools(Protocol):
    """Tools over one bank for one question. A kind of tools may have methods of its own beside these."""

    @property
    def schemas(self) -> tuple[dict[str, object], ...]:
        """The tools as JSON schemas of functions."""
        ...

    async def call(self, name: str, arguments: Mapping[str, object]) -> ToolReply:
        """Make a call as a model has written it.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...


MakeTools = Callable[[Query, StoreReader], AgentTools]
"""Makes the tools for one question over a bank."""


class Beliefs(Protocol):
    """What an agent believes, and who it says it is."""

    async def opinions(self, reader: StoreReader, *, entity: str | None) -> list[Opinion]:
        """Return what the bank believes, the newest first; with an entity's id, only opinions on it."""
        ...

    async def merge_background(self, background: str, snippet: str) -> str:
        """Return the agent's background with what a snippet adds.

        Raises:
            ModelError: a model is needed, and failed.
        """
        ...


class Calibrator(Protocol):
    """Finds the similarity that counts as recurrence in a bank."""

    async def calibrate(self, reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
        """Find the similarity that a share of the messages reaches; nothing is written.

        Raises:
            InvalidInput: a number is out of its range, or the bank has too few messages to tell.
        """
        ...

    def setting(self, found: Calibration, *, share: float, now: datetime) -> tuple[str, str]:
        """Return the setting by which the bank keeps what was found: a key and a value."""
        ...
