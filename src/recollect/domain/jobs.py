"""Jobs: work that a write causes and a worker does later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of background work; ``id`` is a hash of what it is about, so that the same work is queued once."""

    id: str
    kind: str
    payload: str
    attempts: int = 0
