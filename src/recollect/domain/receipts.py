"""What a write did, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainReceipt:
    """What ``retain`` stored. ``skipped`` counts messages that the bank had already, word for word.

    ``jobs`` counts those that the write caused; ``notes`` say why they have to wait, or what of them went wrong.
    """

    session: str
    messages: tuple[str, ...]
    skipped: int
    items: int
    links: int
    entities: int
    merges: int
    jobs: int
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsReceipt:
    """What ``add_facts`` stored.

    ``facts`` are the ids of the items that keep the facts, in the order in which the facts were given; ``skipped``
    counts those that the bank had already.
    """

    facts: tuple[str, ...]
    skipped: int
    entities: int
    merges: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """What ``forget`` removed, and what its own check found.

    ``messages`` are the ids that are gone. ``verified`` is true when the words of every forgotten message were looked
    for in every file of the bank and not found; ``leftovers`` names the files where some were found. ``jobs`` counts
    those that were dropped, or lost a message.
    """

    messages: tuple[str, ...]
    sessions: int
    items: int
    links: int
    entities: int
    mentions: int
    jobs: int
    verified: bool
    leftovers: tuple[str, ...]
    seconds: float
