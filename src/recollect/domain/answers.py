"""The results of ``ask`` and ``reflect``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from recollect.domain.codec import from_json, to_json
from recollect.domain.items import Item, ItemKind
from recollect.domain.recalls import Evidence, RecallReceipt
from recollect.domain.usage import Usage

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """An item that supports an answer. ``sources`` are the ids of the messages that the item came from."""

    id: str
    kind: ItemKind
    text: str
    sources: tuple[str, ...]


def cite(piece: Evidence | Item) -> Citation:
    """Return the citation of a whole piece of evidence."""
    return Citation(id=piece.id, kind=piece.kind, text=piece.text, sources=piece.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """A line about a step, for a reader.

    ``mark`` is a short sign before the line, such as "+" for what is new. If the line shows a piece of evidence,
    ``evidence`` is this piece, and ``text`` its words.
    """

    text: str
    mark: str = ""
    evidence: Evidence | None = None


class TraceStep(Protocol):
    """A step on the way to an answer.

    A responder can emit :class:`Step`, or a frozen dataclass of its own with further fields. The JSON of an answer has
    these fields beside ``kind``, ``action``, ``detail``, ``seconds`` and ``usage``.
    """

    @property
    def kind(self) -> str:
        """Return the kind of the step, such as "memr3.round". Steps of one kind have the same fields."""
        ...

    @property
    def action(self) -> str:
        """Return what was done, in one word, such as "retrieve"."""
        ...

    @property
    def detail(self) -> str:
        """Return the result of the step in one line."""
        ...

    @property
    def seconds(self) -> float: ...

    @property
    def usage(self) -> Usage:
        """Return the cost of the model calls of this step."""
        ...

    @property
    def lines(self) -> tuple[TraceLine, ...]:
        """Return the step in several lines, a heading first. It is empty if ``detail`` says everything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that is described in words only. See :class:`TraceStep`."""

    kind: ClassVar[str] = "step"

    action: str
    detail: str
    seconds: float
    usage: Usage = Usage()
    lines: tuple[TraceLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceipt:
    """The record of how an answer was made: its recalls, its models and its tokens.

    ``notes`` describe what was not done, and why.
    """

    recalls: tuple[RecallReceipt, ...]
    models: tuple[str, ...]
    usage: Usage
    seconds: float
    notes: tuple[str, ...] = ()


def _write_trace(trace: Iterable[TraceStep]) -> list[dict[str, object]]:
    return [write_step(step) for step in trace]


def write_step(step: TraceStep) -> dict[str, object]:
    """Return a step as JSON types: what every step has, and the fields of its own kind."""
    common = {name: to_json(getattr(step, name)) for name in ("kind", "action", "detail", "seconds", "usage")}
    return {**common, **to_json(step)}


def read_step(kind: type[S], data: Mapping[str, object]) -> S:
    """Return a step from the JSON that :func:`write_step` made of it.

    ``kind`` is the class of the step. With ``Step``, the fields that every step has are read from any step.

    Raises:
        ValueError: the data has another shape.
    """
    names = {one.name for one in fields(kind)}
    return from_json(kind, {name: cell for name, cell in data.items() if name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with its citations and evidence.

    If ``abstained`` is true, memory does not contain the information, and ``text`` says so. Without a model, ``text``
    is empty. ``trace`` has the steps on the way to the answer, in order. ``opinions`` are the ids of opinions that were
    formed or revised.
    """

    text: str
    abstained: bool
    citations: tuple[Citation, ...]
    evidence: tuple[Evidence, ...]
    trace: tuple[TraceStep, ...] = field(metadata={"json": _write_trace})
    receipt: AnswerReceipt
    opinions: tuple[str, ...] = ()
