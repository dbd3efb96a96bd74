"""Over a memory that is not ours: what a retriever has to do besides asking it."""

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
from recollect.domain.recalls import ArmStatus, Evidence, Recall, RecallReceipt, Why
from recollect.domain.time import Interval
from recollect.errors import RecallFailed
from recollect.recall.arms import Attempt, attempted
from recollect.recall.trim import fitting
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_all

MOST: Final = 10_000
"""More than this is asked of no backend at once."""

STOPPED: Final = "{name} was asked for {count} pieces at once, and for no more: most of them were seen already"
NARROWED: Final = "{name} cannot be narrowed to {fields}: what it brought is from all it holds"
UNDATED: Final = "{name} does not tell when {count} of {all} pieces were said: they are shown without a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A piece of what a backend holds.

    ``at`` is when it was said or stored, ``None`` where the backend does not tell. ``sources`` are the ids of the
    messages behind it; its own where they are left out. ``score`` is on the backend's own scale.
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


class Backend(Protocol):
    """What is asked of a memory of somebody else's."""

    @property
    def name(self) -> str:
        """What its arm is called in receipts."""
        ...

    @property
    def masks(self) -> bool:
        """Whether a search leaves out what it is told to; else more is asked for, and it is left out here."""
        ...

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> Sequence[Found]:
        """At most ``count`` pieces, best first; whatever it raises is told in the receipt.

        Fewer mean that there are no more to be had.
        """
        ...


@dataclass(slots=True)
class _Search:
    """How far a search is: what it has found that is new, best first, and what a reader should know about it."""

    query: Query
    backend: Backend
    found: tuple[Found, ...] = ()
    brought: int = 0
    notes: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Ask for more and more, until as many new pieces are there as are wanted, or there are no more."""
        exclude = self.query.scope.exclude
        count = self.query.limit + (0 if self.backend.masks else len(exclude))
        while True:
            brought = await self.backend.search(self.query.text, count, exclude)
            self.found, self.brought = unseen(brought, exclude), len(brought)
            if len(self.found) >= self.query.limit or len(brought) < count:
                return
            if count >= MOST:
                self.notes.append(STOPPED.format(name=self.backend.name, count=count))
                return
            count = min(2 * count, MOST)


class ForeignRetriever:
    """Finds evidence in a memory of somebody else's. See :class:`recollect.ports.Retriever`.

    ``limit``, ``max_tokens`` and what is to be left out are kept to; what else a query narrows to is not, and the
    receipt says so.

    Args:
        backend: what is asked.
        deadline_s: how long it may take, in seconds, however often it is asked.
    """

    def __init__(self, backend: Backend, *, deadline_s: float = 30.0) -> None:
        self._backend, self._deadline_s = backend, deadline_s

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Find evidence; the reader is not needed.

        Raises:
            RecallFailed: the backend failed, or took too long, before it had brought anything.
        """
        began = time.perf_counter()
        search = _Search(query, self._backend)
        tried = await attempted(search.run, None, self._deadline_s)
        if tried.status is not ArmStatus.OK and not search.found:
            raise RecallFailed(f"no arm answered: {self._backend.name}: {tried.note}")
        kept = search.found[: query.limit]
        tokens = count_all([one.text for one in kept])
        room = fitting(tokens, query.max_tokens)
        arm = self._backend.name
        return Recall(
            evidence=tuple(
                _evidence(one, arm, rank, cost)
                for rank, (one, cost) in enumerate(zip(kept[:room], tokens, strict=False), start=1)
            ),
            receipt=_receipt(search, tried, kept, tokens, room, began),
        )


def unseen(found: Sequence[Found], exclude: frozenset[str]) -> tuple[Found, ...]:
    """What of it is new, each once: neither itself nor a message behind it is to be left out."""
    new: dict[str, Found] = {}
    for one in found:
        if one.id not in exclude and exclude.isdisjoint(one.sources):
            new.setdefault(one.id, one)
    return tuple(new.values())


def narrowed(scope: Scope) -> tuple[str, ...]:
    """What a scope asks for besides leaving something out, in words."""
    asked = {
        "kinds": scope.kinds,
        "sessions": scope.sessions,
        "speakers": scope.speakers,
        "a time": scope.during,
        "what was recorded by then": scope.as_of,
        "times of facts": scope.when,
    }
    return tuple(name for name, value in asked.items() if value)


async def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives, asynchronous or not; one that is not runs in a thread, since it may wait."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    given = await asyncio.to_thread(function, *args, **kwargs)
    return await given if isinstance(given, Awaitable) else given


def _evidence(found: Found, arm: str, rank: int, tokens: int) -> Evidence:
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
        why=(Why(arm=arm, rank=rank, score=found.score),),
        tokens=tokens,
    )


def _receipt(
    search: _Search, tried: Attempt[None], kept: Sequence[Found], tokens: Sequence[int], room: int, began: float
) -> RecallReceipt:
    return RecallReceipt(
        arms=(tried.report(search.backend.name, search.brought),),
        fusion="none",
        reranker=None,
        candidates=len(search.found),
        cut_by_limit=len(search.found) - len(kept),
        cut_by_budget=len(kept) - room,
        tokens=sum(tokens[:room]),
        during=None,
        seconds=time.perf_counter() - began,
        notes=tuple(_notes(search, kept[:room])),
    )


def _notes(search: _Search, shown: Sequence[Found]) -> Iterator[str]:
    """What could not be kept to, and what is not known."""
    name = search.backend.name
    if fields := narrowed(search.query.scope):
        yield NARROWED.format(name=name, fields=", ".join(fields))
    if undated := sum(one.at is None for one in shown):
        yield UNDATED.format(name=name, count=undated, all=len(shown))
    yield from search.notes
