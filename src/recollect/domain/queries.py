"""What is asked of a bank."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import ItemKind
from recollect.domain.time import Interval
from recollect.domain.triples import TimeFilter


class Effort(StrEnum):
    """How hard to look: how many candidates each arm brings and how far the graph is walked."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a recall may return; everything is applied inside the store, so that k stays k.

    ``during`` keeps items that speak of, or were said in, that time. ``as_of`` answers with what was recorded by
    then. ``exclude`` holds ids of items or messages that have been seen already (MemR3's mask). ``when`` is about the
    start and the end of what items tell (:func:`recollect.domain.held.held`). An empty tuple does not narrow.
    """

    kinds: tuple[ItemKind, ...] = ()
    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    during: Interval | None = None
    as_of: datetime | None = None
    exclude: frozenset[str] = frozenset()
    when: TimeFilter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question to a bank: at most ``limit`` items of at most ``max_tokens`` tokens together come back."""

    text: str
    now: datetime
    limit: int = 20
    max_tokens: int | None = 4096
    effort: Effort = Effort.MID
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question as the arms see it.

    ``topic`` is the text without the people it is about; ``vector`` its embedding, float32 ``(dimension,)``; ``terms``
    its hashed stems, uint32, each once. ``speakers`` are the bank's speakers named in the question, ``phrases`` its
    quoted phrases, ``during`` the time it asks about; ``asks_when`` says that the answer is a time.
    """

    topic: str
    vector: NDArray[np.float32]
    terms: NDArray[np.uint32]
    speakers: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    during: Interval | None = None
    asks_when: bool = False
