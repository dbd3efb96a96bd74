"""Every error recollect raises on purpose.

::

    RecollectError
    ├── InvalidInput             what was given cannot be used; says where and what to do
    │   ├── NaiveDatetime        a time without a zone
    │   ├── MalformedLine        a line of an input file; carries its number
    │   └── BadBankName          a name that cannot be a bank's
    ├── BankNotFound             no bank of that name in this store
    ├── MessageConflict          a message id that is already kept with other words
    ├── StoreError               the store cannot do what was asked
    │   ├── StoreUnavailable     read-only, full, locked, or not reachable
    │   ├── NotABank             the file is no bank, or is damaged
    │   ├── StaleWrite           the bank has changed since it was read; the write is tried again
    │   ├── LostLease            a job is somebody else's now, or was dropped or forgotten while it was worked on
    │   ├── NewerSchema          the bank was written by a later recollect
    │   └── EmbedderMismatch     the bank's vectors come from another embedder: `recollect rebuild`
    ├── ModelError               an embedder, reranker or language model failed
    │   ├── MissingExtra         an optional package is not installed; names the pip command
    │   ├── ModelUnavailable     it could not be loaded or reached
    │   │   └── NoAnswer         a language model was reached, and refused or gave nothing
    │   ├── InvalidReply         a language model's answer breaks its schema or an invariant; carries the answer
    │   ├── LimitReached         a limit on tokens is used up; carries when to try again
    │   └── NoModel              something was asked that only a language model can do, and none is configured
    └── RecallFailed             every arm of a recall failed; carries the arms' errors
"""

from __future__ import annotations

from datetime import datetime


class RecollectError(Exception):
    """Root of the tree: catch this to catch everything recollect raises on purpose."""


class InvalidInput(RecollectError, ValueError):
    """What was given cannot be used."""


class NaiveDatetime(InvalidInput):
    """A time without a zone: memory orders what happens in several zones, so it never guesses one."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is a naive datetime; give it a zone, for example datetime(2024, 5, 1, tzinfo=timezone.utc)"
        )


class MalformedLine(InvalidInput):
    """A line of an input file that cannot be read."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


class BadBankName(InvalidInput):
    """A bank's name is a file's name: it must not be able to leave its folder."""


class BankNotFound(RecollectError, LookupError):
    """No bank of that name in this store."""


class MessageConflict(RecollectError):
    """A message id that is already kept with other words; messages are immutable."""


class StoreError(RecollectError):
    """The store cannot do what was asked."""


class StoreUnavailable(StoreError):
    """The store is read-only, full, locked by another process, or not reachable."""


class NotABank(StoreError):
    """The file is no bank of recollect's, or it is damaged."""


class StaleWrite(StoreError):
    """The bank has changed since it was read; what was derived from that reading must be derived again."""


class LostLease(StoreError):
    """A job is no longer this worker's: it took longer than its lease, or was dropped or forgotten. Nothing is kept."""


class NewerSchema(StoreError):
    """The bank was written by a later recollect than this one."""


class EmbedderMismatch(StoreError):
    """The bank's vectors come from another embedder than the one configured."""


class ModelError(RecollectError):
    """An embedder, a reranker or a language model failed.

    ``usage`` is what the failed call cost all the same, a :class:`~recollect.domain.usage.Usage`, where it is known.
    """

    usage: object | None = None


class MissingExtra(ModelError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'recollect[{extra}]'")


class ModelUnavailable(ModelError):
    """A model could not be loaded or reached."""


class NoAnswer(ModelUnavailable):
    """A language model was reached, and refused to answer or gave nothing: asking later is not likely to help."""


class InvalidReply(ModelError):
    """A language model's answer breaks its schema or an invariant; ``reply`` is the last one, for inspection."""

    def __init__(self, problem: str, reply: str) -> None:
        super().__init__(problem)
        self.reply = reply


class LimitReached(ModelError):
    """A limit on tokens is used up; ``until`` is when it opens again, ``None`` for a limit in all."""

    def __init__(self, problem: str, until: datetime | None) -> None:
        super().__init__(problem)
        self.until = until


class NoModel(ModelError):
    """Something was asked that only a language model can do, and none is configured."""


class RecallFailed(RecollectError):
    """Every arm of a recall failed, so that an empty answer would be a lie."""
