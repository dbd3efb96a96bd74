"""Every error that recollect raises on purpose.

::

    RecollectError
    ├── InvalidInput             the given value cannot be used; says where and what to do
    │   ├── NaiveDatetime        a time without a zone
    │   ├── MalformedLine        a line of an input file; carries its number
    │   ├── BadBankName          a name that a bank cannot have
    │   │   └── BankNameTaken    a bank has the name in another spelling; carries the bank's name
    │   └── BankExists           a bank or a file of that name exists, and is not replaced
    ├── BankNotFound             this store has no bank of that name
    ├── MessageConflict          the bank has another message with the same id
    ├── StoreError               the store cannot do the operation
    │   ├── StoreUnavailable     read-only, full, locked, or not reachable
    │   ├── NotABank             the file is not a bank, or is damaged
    │   ├── OpenedBeforeFork     the memory was used in the process from which this one was forked
    │   ├── StaleWrite           the bank has changed since it was read; the write is tried again
    │   ├── LostLease            another worker has the job, or the job was dropped or forgotten during the work
    │   ├── MissingCapability    the store lacks what a recipe needs: segments or triples
    │   ├── NewerSchema          a later recollect wrote the bank
    │   └── EmbedderMismatch     the bank's vectors come from another embedder: `recollect rebuild`
    ├── ModelError               an embedder, reranker or language model failed
    │   ├── MissingExtra         an optional package is not installed; names the pip command
    │   ├── ModelUnavailable     the model could not be loaded or reached
    │   │   └── NoAnswer         a language model was reached, and refused or returned nothing
    │   ├── InvalidReply         a language model's answer breaks its schema or an invariant; carries the answer
    │   ├── LimitReached         a limit on tokens is used up; carries the time of the next try
    │   └── NoModel              the operation needs a language model, and none is configured
    ├── RecallFailed             every arm of a recall failed; carries the errors of the arms
    └── DeadlineExceeded         the time that a call was given is over
"""

from __future__ import annotations

from datetime import datetime


class RecollectError(Exception):
    """The root of the tree. Catch it to catch every error that recollect raises on purpose."""


class InvalidInput(RecollectError, ValueError):
    """The given value cannot be used."""


class NaiveDatetime(InvalidInput):
    """A time has no zone. Memory orders events from several zones, so it never guesses the zone."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is a naive datetime; give it a zone, for example datetime(2024, 5, 1, tzinfo=timezone.utc)"
        )


class MalformedLine(InvalidInput):
    """A line of an input file cannot be read."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


class BadBankName(InvalidInput):
    """A name cannot be a bank's name. The name becomes a file name, and must not lead out of its folder."""


class BankNameTaken(BadBankName):
    """A bank has this name in another spelling: in other cases, or in another Unicode form.

    ``bank`` is the bank's own name.
    """

    def __init__(self, name: str, bank: str) -> None:
        super().__init__(
            f"there is a bank {bank!r}, and {name!r} is the same name in another spelling; use {bank!r}, or a name "
            "that differs in more than case or Unicode form"
        )
        self.bank = bank


class BankExists(InvalidInput):
    """A bank or a file of this name exists, and is not replaced."""


class BankNotFound(RecollectError, LookupError):
    """This store has no bank of that name."""


class MessageConflict(RecollectError):
    """The bank has another message with the same id. Messages are immutable."""


class StoreError(RecollectError):
    """The store cannot do the operation."""


class StoreUnavailable(StoreError):
    """The store is read-only, full, locked by another process, or not reachable."""


class NotABank(StoreError):
    """The file is not a bank of recollect, or it is damaged."""


class OpenedBeforeFork(StoreError):
    """The memory was used before this process was forked. Its connections and threads belong to the parent process."""


class StaleWrite(StoreError):
    """The bank has changed since it was read. Changes that rest on that reading must be derived again."""


class LostLease(StoreError):
    """The job no longer belongs to this worker: its lease ran out, or the job was dropped or forgotten. Nothing is
    kept.
    """


class MissingCapability(StoreError):
    """The store does not offer what was asked of it: not every engine keeps segments, or triples."""


class NewerSchema(StoreError):
    """A later version of recollect wrote the bank."""


class EmbedderMismatch(StoreError):
    """The vectors of the bank come from another embedder than the configured one."""


class ModelError(RecollectError):
    """An embedder, a reranker or a language model failed.

    ``usage`` is the cost of the failed call, a :class:`~recollect.domain.usage.Usage`, if it is known.
    """

    usage: object | None = None


class MissingExtra(ModelError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'recollect[{extra}]'")


class ModelUnavailable(ModelError):
    """A model could not be loaded or reached."""


class NoAnswer(ModelUnavailable):
    """A language model was reached, and refused to answer or returned nothing. A later try is not likely to help."""


class InvalidReply(ModelError):
    """A language model's answer breaks its schema or an invariant. ``reply`` is the last answer, for inspection."""

    def __init__(self, problem: str, reply: str) -> None:
        super().__init__(problem)
        self.reply = reply


class LimitReached(ModelError):
    """A limit on tokens is used up. ``until`` is the time when it opens again, or ``None`` for a limit without a
    period.
    """

    def __init__(self, problem: str, until: datetime | None) -> None:
        super().__init__(problem)
        self.until = until


class NoModel(ModelError):
    """The operation needs a language model, and none is configured."""


class RecallFailed(RecollectError):
    """Every arm of a recall failed, so an empty result would be wrong."""


class DeadlineExceeded(RecollectError, TimeoutError):
    """The time that a call was given is over. A call that writes has then stored nothing."""
