"""The optional offers of a recipe: tools for agents, beliefs and calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from recollect.domain.calibration import Calibration
from recollect.domain.opinions import Opinion
from recollect.domain.queries import Query
from recollect.store.protocol import StoreReader


class ToolReply(Protocol):
    """The result of a tool. ``text`` is the part that the model reads."""

    @property
    def text(self) -> str: ...


class AgentTools(Protocol):
    """Tools over one bank for one question. An implementation may have more methods than these."""

    @property
    def schemas(self) -> tuple[dict[str, object], ...]:
        """Return the tools as JSON schemas of functions."""
        ...

    async def call(self, name: str, arguments: Mapping[str, object]) -> ToolReply:
        """Run a call as a model has written it.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        ...


MakeTools = Callable[[Query, StoreReader], AgentTools]
"""Makes the tools for one question over a bank."""


class Beliefs(Protocol):
    """The opinions of an agent, and its background."""

    async def opinions(self, reader: StoreReader, *, entity: str | None) -> list[Opinion]:
        """Return the opinions of the bank, the newest first. With the id of an entity, return only opinions on this
        entity.
        """
        ...

    async def merge_background(self, background: str, snippet: str) -> str:
        """Return the agent's background, extended by a snippet.

        Raises:
            ModelError: a model is needed, and it failed or is missing.
        """
        ...


class Calibrator(Protocol):
    """Finds the similarity that counts as recurrence in a bank."""

    async def calibrate(self, reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
        """Find the similarity that a share of the messages reaches. Nothing is written.

        Raises:
            InvalidInput: a number is out of its range, or the bank has too few messages.
        """
        ...

    def setting(self, found: Calibration, *, share: float, now: datetime) -> tuple[str, str]:
        """Return the setting in which the bank stores the result: a key and a value."""
        ...
