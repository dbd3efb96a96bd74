"""Retrieve from other memories: deadlines, exclusions, budgets and receipts around their searches."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from recollect.domain.items import ItemKind
from recollect.domain.queries import Query, Scope
from recollect.domain.recalls import ArmRank, ArmStatus, Evidence, Recall, RecallReceipt
from recollect.domain.time import Interval
from recollect.errors import RecallFailed
from recollect.recall.arms import Attempt, run_until_deadline
from recollect.recall.trim import count_fitting
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_all

MAX_REQUESTED: Final = 10_000
"""The maximum number of pieces that a backend is asked for at once."""

SEARCH_STOPPED: Final = "{name} was asked for {count} pieces at once, and for no more: most of them were seen already"
SCOPE_IGNORED: Final = "{name} cannot be narrowed to {fields}: what it brought is from all it holds"
UNDATED_NOTE: Final = "{name} does not tell when {count} of {all} pieces were said: they are shown without a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPiece:
    """A piece that a backend holds.

    ``at`` is the time when it was said or stored, or ``None`` if the backend does not know it. ``sources`` are the ids
    of the messages behind it, or its own id if they are left out. ``score`` is on the scale of the backend.
    """

    id: str
    text: str
    at: datetime | None = None
    occurred: Interval | None = None
    speaker: str = ""
    session: str = ""
    sources: tuple[str, ...] = ()
    score: float = 0.0
    kind: ItemKind = ItemKind.TURN


class ForeignBackend(Protocol):
    """The operations that another memory must offer."""

    @property
    def name(self) -> str:
        """Return the name of its arm in receipts."""
        ...

    @property
    def masks(self) -> bool:
        """Return true if a search excludes the given ids. If it does not, more is requested and filtered here."""
        ...

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> Sequence[ForeignPiece]:
        """Return at most ``count`` pieces, the best first. The receipt reports any error.

        Fewer pieces mean that there are no more.
        """
        ...


@dataclass(slots=True)
class _ForeignSearch:
    """The state of a search: its new pieces, the best first, and notes for the reader."""

    query: Query
    backend: ForeignBackend
    found: tuple[ForeignPiece, ...] = ()
    received: int = 0
    notes: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Request more and more pieces, until there are enough new ones or no more at all."""
        exclude = self.query.scope.exclude
        count = self.query.limit + (0 if self.backend.masks else len(exclude))
        while True:
            brought = await self.backend.search(self.query.text, count, exclude)
            self.found, self.received = drop_seen(brought, exclude), len(brought)
            if len(self.found) >= self.query.limit or len(brought) < count:
                return
            if count >= MAX_REQUESTED:
                self.notes.append(SEARCH_STOPPED.format(name=self.backend.name, count=count))
                return
            count = min(2 * count, MAX_REQUESTED)


class ForeignRetriever:
    """Finds evidence in another memory. See :class:`recollect.ports.Retriever`.

    It respects ``limit``, ``max_tokens`` and exclusions. It ignores the other restrictions of a query, and the receipt
    says so.

    Args:
        backend: the memory to search.
        deadline_s: the maximum time in seconds, for all requests together.
    """

    def __init__(self, backend: ForeignBackend, *, deadline_s: float = 30.0) -> None:
        self._backend, self._deadline_s = backend, deadline_s

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Find evidence. The reader is not used.

        Raises:
            RecallFailed: the backend failed, or took too long, before it returned anything.
        """
        began = time.perf_counter()
        search = _ForeignSearch(query, self._backend)
        tried = await run_until_deadline(search.run, None, self._deadline_s)
        if tried.status is not ArmStatus.OK and not search.found:
            raise RecallFailed(f"no arm answered: {self._backend.name}: {tried.note}")
        kept = search.found[: query.limit]
        tokens = count_all([one.text for one in kept])
        room = count_fitting(tokens, query.max_tokens)
        arm = self._backend.name
        return Recall(
            evidence=tuple(
                _make_evidence(one, arm, rank, cost)
                for rank, (one, cost) in enumerate(zip(kept[:room], tokens, strict=False), start=1)
            ),
            receipt=_build_receipt(search, tried, kept, tokens, room, began),
        )


def drop_seen(found: Sequence[ForeignPiece], exclude: frozenset[str]) -> tuple[ForeignPiece, ...]:
    """Return the new pieces, each once. A piece is new if neither its id nor that of a message behind it is
    excluded.
    """
    new: dict[str, ForeignPiece] = {}
    for one in found:
        if one.id not in exclude and exclude.isdisjoint(one.sources):
            new.setdefault(one.id, one)
    return tuple(new.values())


def unsupported_filters(scope: Scope) -> tuple[str, ...]:
    """Return the restrictions of a scope except exclusions, in words."""
    asked = {
        "kinds": scope.kinds,
        "sessions": scope.sessions,
        "speakers": scope.speakers,
        "a time": scope.during,
        "what was recorded by then": scope.as_of,
        "times of facts": scope.when,
    }
    return tuple(name for name, value in asked.items() if value)


async def call_maybe_async(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a function, asynchronous or not. A synchronous function runs in a thread, because it may
    wait.
    """
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    given = await asyncio.to_thread(function, *args, **kwargs)
    return await given if isinstance(given, Awaitable) else given


def _make_evidence(found: ForeignPiece, arm: str, rank: int, tokens: int) -> Evidence:
    return Evidence(
        id=found.id,
        kind=found.kind,
        text=found.text,
        session=found.session,
        speaker=found.speaker,
        sources=found.sources or (found.id,),
        mentioned=found.at,
        occurred=found.occurred,
        score=found.score,
        why=(ArmRank(arm=arm, rank=rank, score=found.score),),
        tokens=tokens,
    )


def _build_receipt(
    search: _ForeignSearch,
    tried: Attempt[None],
    kept: Sequence[ForeignPiece],
    tokens: Sequence[int],
    room: int,
    began: float,
) -> RecallReceipt:
    return RecallReceipt(
        arms=(tried.report(search.backend.name, search.received),),
        fusion="none",
        reranker=None,
        candidates=len(search.found),
        cut_by_limit=len(search.found) - len(kept),
        cut_by_budget=len(kept) - room,
        tokens=sum(tokens[:room]),
        during=None,
        seconds=time.perf_counter() - began,
        notes=tuple(_collect_notes(search, kept[:room])),
    )


def _collect_notes(search: _ForeignSearch, shown: Sequence[ForeignPiece]) -> Iterator[str]:
    """Yield the restrictions that were ignored, and the facts that are unknown."""
    name = search.backend.name
    if fields := unsupported_filters(search.query.scope):
        yield SCOPE_IGNORED.format(name=name, fields=", ".join(fields))
    if undated := sum(one.at is None for one in shown):
        yield UNDATED_NOTE.format(name=name, count=undated, all=len(shown))
    yield from search.notes
