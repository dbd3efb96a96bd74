"""Build the answer of a run, with its receipt and trace, or abstain.

A refusal is a separate outcome (REMem, section 6.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recollect.answering.answers import NOTHING_FOUND, build_receipt
from recollect.answering.evidence import join_lines
from recollect.domain.answers import Answer, AnswerReceipt, Step, TraceStep
from recollect.domain.items import ItemKind
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.methods.remem.conclusion import Conclusion, RecollectionReply, TimelineReply, cite_items
from recollect.methods.remem.observations import NumberedItem
from recollect.methods.remem.planning import PlannedCall
from recollect.models.language import Reply
from recollect.ports import Listener
from recollect.store.protocol import StoreReader

FOUND_KINDS: Final = (ItemKind.GIST, ItemKind.TRIPLE)
"""The kinds of items that the tools find."""

CONCLUDE: Final = "conclude"
NO_ROOM: Final = "{left} of {found} gists and facts that were found do not fit into max_tokens"
UNREAD: Final = (
    "messages without gists or facts so far: {count}; `bank.backfill()` queues them to be read in the background, "
    "and `bank.run_jobs()` runs the waiting jobs at once"
)
NOT_INDEXED: Final = (
    "the bank holds no gists and no facts; a recipe such as remem makes them from its messages in the background, "
    "and `bank.run_jobs()` runs the waiting jobs at once"
)
LEFT_OUT: Final = "the question leaves out gists and facts by their kinds, and this recipe finds nothing else"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of a run before its last call: everything else that the receipt and the trace of an answer need.

    ``shown`` is the evidence that fits into the prompt, out of ``found`` items in all. ``began`` is a moment on the
    performance counter. ``failed_usage`` is the usage of failed calls.
    """

    query: Query
    reader: StoreReader
    began: float
    shown: tuple[NumberedItem, ...] = ()
    found: int = 0
    trace: tuple[TraceStep, ...] = ()
    replies: tuple[Reply[PlannedCall], ...] = ()
    failed_usage: Usage = Usage()
    notes: tuple[str, ...] = ()


async def is_memory_empty(query: Query, reader: StoreReader) -> bool:
    """Return true if no tool can find anything, whatever its arguments."""
    kinds = [kind for kind in FOUND_KINDS if not query.scope.kinds or kind in query.scope.kinds]
    return not kinds or not await reader.items_of(kinds, superseded=True, limit=1)


async def make_answer(
    ending: RunResult,
    reply: Reply[RecollectionReply] | Reply[TimelineReply] | None,
    listener: Listener,
    seconds: float = 0.0,
) -> Answer:
    """Return the answer from the reply of the last call, which took ``seconds``. ``listener`` receives this last step.

    ``reply`` is ``None`` if nothing was found and the model was therefore not asked. Then the answer abstains.
    """
    if reply is None:
        return await _abstain(ending)
    said = reply.value
    step = Step(action=CONCLUDE, detail=_render_reasoning(said), seconds=seconds, usage=reply.usage)
    listener(step)
    return Answer(
        text=said.answer,
        abstained=said.abstained,
        citations=cite_items(said.citations, ending.shown),
        evidence=tuple(one.evidence for one in ending.shown),
        trace=(*ending.trace, step),
        receipt=_build_receipt(ending, [*ending.replies, reply], (*_note_left_out(ending), *reply.notes)),
    )


async def _abstain(ending: RunResult) -> Answer:
    notes = tuple(_note_left_out(ending)) or await _explain_nothing_found(ending)
    return Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=(),
        trace=ending.trace,
        receipt=_build_receipt(ending, ending.replies, notes),
    )


async def _explain_nothing_found(ending: RunResult) -> tuple[str, ...]:
    """Return notes for the caller on why nothing was found.

    The cause may be unread messages, and not an empty memory.
    """
    kinds = ending.query.scope.kinds
    if kinds and not set(kinds) & set(FOUND_KINDS):
        return (LEFT_OUT,)
    if unread := await ending.reader.find_unread():
        return (UNREAD.format(count=len(unread)),)
    return (NOT_INDEXED,) if await is_memory_empty(ending.query, ending.reader) else ()


def _note_left_out(ending: RunResult) -> tuple[str, ...]:
    left = ending.found - len(ending.shown)
    return (NO_ROOM.format(left=left, found=ending.found),) if left else ()


def _render_reasoning(said: Conclusion) -> str:
    if isinstance(said, RecollectionReply):
        return join_lines(said.reasoning)
    parts = (said.reasoning, f"timeline: {'; '.join(said.timeline)}", f"reflection: {said.reflection}")
    return " ".join(map(join_lines, parts))


Replies = Sequence[Reply[PlannedCall] | Reply[RecollectionReply] | Reply[TimelineReply]]


def _build_receipt(ending: RunResult, replies: Replies, notes: Sequence[str]) -> AnswerReceipt:
    return build_receipt((), replies, ending.began, (*ending.notes, *notes), failed_usage=ending.failed_usage)
