"""The results of writes, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainReceipt:
    """The result of ``retain``. ``skipped`` counts messages that the bank already had, word for word.

    ``jobs`` counts the jobs that the write caused. ``notes`` say why these jobs have to wait, or how they failed.
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
    """The result of ``add_facts``.

    ``facts`` are the ids of the items that store the facts, in the order of the given facts. ``skipped`` counts the
    facts that the bank already had.
    """

    facts: tuple[str, ...]
    skipped: int
    entities: int
    merges: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """The result of ``forget``, and of its check.

    ``messages`` are the ids of the forgotten messages. ``verified`` is true if none of their words was found in any
    file of the bank. ``leftovers`` are the files in which some words were found. ``jobs`` counts the jobs that were
    dropped or lost a message.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReceipt:
    """The result of ``backup``: a file that contains a bank as it was at one moment, and that was checked.

    ``messages`` and ``items`` are the numbers in the file. ``size_bytes`` is its size.
    """

    bank: str
    file: str
    messages: int
    items: int
    size_bytes: int
    seconds: float
