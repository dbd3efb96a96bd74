"""The results of writes, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


class Verification(StrEnum):
    """The result of the check that forgotten words are gone.

    - ``VERIFIED``: every file of the bank was read, and none of the words was found.
    - ``WORDS_LEFT``: some words were found, or may be in a file that another process holds.
    - ``UNKNOWN``: nothing was found, but the check is not complete. The receipt's reasons say why.
    - ``NOT_RUN``: nothing was forgotten, because the call was a dry run.
    """

    VERIFIED = "verified"
    WORDS_LEFT = "words_left"
    UNKNOWN = "unknown"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenReplies:
    """The number of removed replies, and the files that quote forgotten texts and could not be removed or read."""

    removed: int = 0
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedQuote:
    """Something that was removed because it quotes a forgotten text which it does not cite.

    ``kind`` is the kind of an item, or "link", "name", "job", "setting" or "profile". ``id`` is the id of the item, job
    or entity, or the key of the setting. It is empty for links.
    """

    kind: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """The result of ``forget``, and of its check.

    ``messages`` are the ids of the forgotten messages. ``jobs`` counts the jobs that were dropped or lost a message.
    ``replies`` counts the replies that were removed from the reply cache.

    ``quotes`` are the things that were removed although they cite no forgotten message, because they quote one.
    ``possible`` are the ids of messages that stay, and that only might be meant: a word that is also a name, a name
    inside a longer word, a shorter or misspelled form of a name.

    ``verification`` is the result of the check. ``leftovers`` are the files, and the columns of tables, in which words
    were found. ``reasons`` say why the check is not complete. In a dry run, nothing has happened yet, and all numbers
    are what would happen.
    """

    messages: tuple[str, ...]
    sessions: int
    items: int
    links: int
    entities: int
    mentions: int
    jobs: int
    verification: Verification
    seconds: float
    replies: int = 0
    quotes: tuple[RemovedQuote, ...] = ()
    possible: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Return true if every file was read, and none of the forgotten words was found."""
        return self.verification is Verification.VERIFIED

    @property
    def dry_run(self) -> bool:
        """Return true if nothing was forgotten, because the call was a dry run."""
        return self.verification is Verification.NOT_RUN


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
