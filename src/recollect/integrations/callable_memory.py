"""Retrieve evidence with a plain function that finds texts."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from recollect.errors import InvalidInput, NaiveDatetime
from recollect.integrations.foreign_memory import MAX_REQUESTED, ForeignPiece, ForeignRetriever, call_maybe_async
from recollect.integrations.metadata_fields import make_text_id

TextPiece: TypeAlias = (
    str | tuple[str, str] | tuple[str, str, datetime | None] | tuple[str, str, datetime | None, str] | ForeignPiece
)
"""A text; or its id, the text, its time (aware, or ``None``) and its speaker; or a complete piece."""

FindFunction: TypeAlias = Callable[[str, int, frozenset[str]], Iterable[TextPiece] | Awaitable[Iterable[TextPiece]]]
"""Takes a query, the wanted number of pieces and the ids to exclude. Returns pieces, the best first."""


class CallableRetriever(ForeignRetriever):
    """Finds evidence with a function, asynchronous or not. See :class:`recollect.ports.Retriever`.

    The function may ignore the ids to exclude. Its pieces with these ids are dropped, and it is asked for more. A text
    without an id gets one made from its words.

    Args:
        find: takes the query, the wanted number of pieces and the ids to exclude, and returns pieces, the best first. A
            synchronous function runs in a thread, even if it yields its pieces one by one.
        name: the name of its arm in receipts.
        deadline_s: the maximum time of a search, in seconds.
    """

    def __init__(self, find: FindFunction, *, name: str = "callable", deadline_s: float = 30.0) -> None:
        super().__init__(_FunctionBackend(find, name), deadline_s=deadline_s)


class _FunctionBackend:
    masks = True

    def __init__(self, find: FindFunction, name: str) -> None:
        self._find, self.name = find, name

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[ForeignPiece]:
        find = self._find if inspect.iscoroutinefunction(self._find) else self._call_function
        return [_read_piece(piece) for piece in _require_pieces(await call_maybe_async(find, text, count, exclude))]

    def _call_function(
        self, text: str, count: int, exclude: frozenset[str]
    ) -> list[TextPiece] | Awaitable[Iterable[TextPiece]]:
        """Return the result of the function. A generator is read here, in the thread."""
        given = self._find(text, count, exclude)
        return given if isinstance(given, Awaitable) else _require_pieces(given)


def _require_pieces(given: Iterable[TextPiece]) -> list[TextPiece]:
    """Return the pieces as a list. Raise InvalidInput for a single text, whose characters would look like pieces."""
    if isinstance(given, str):
        raise InvalidInput(f"{given!r} is one text; give a list of pieces")
    return list(islice(given, MAX_REQUESTED))


def _read_piece(piece: TextPiece) -> ForeignPiece:
    """Return a piece in full. Raise InvalidInput if the value is not a piece."""
    match piece:
        case ForeignPiece():
            return piece
        case str():
            return ForeignPiece(id=make_text_id(piece), text=piece)
        case (str(own_id), str(text)):
            return ForeignPiece(id=own_id, text=text)
        case (str(own_id), str(text), at):
            return ForeignPiece(id=own_id, text=text, at=_require_aware(at))
        case (str(own_id), str(text), at, str(speaker)):
            return ForeignPiece(id=own_id, text=text, at=_require_aware(at), speaker=speaker)
    raise InvalidInput(f"{piece!r} is no piece: give a text, or its id, the text, when it was said and by whom")


def _require_aware(at: object) -> datetime | None:
    """Return the time. Raise NaiveDatetime if it has no zone."""
    if at is None or (isinstance(at, datetime) and at.utcoffset() is not None):
        return at
    raise NaiveDatetime("a piece's time") if isinstance(at, datetime) else InvalidInput(f"{at!r} is no time")
