"""An answer with how it was made, or that there is none (REMem, section 6.2: a refusal is an outcome of its own)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recollect.answering.answers import NOTHING_FOUND, receipt_of
from recollect.answering.evidence import one_line
from recollect.domain.answers import Answer, AnswerReceipt, Step
from recollect.domain.items import ItemKind
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.methods.remem.conclude import Conclusion, Recollected, Reflected, cited
from recollect.methods.remem.observe import Numbered
from recollect.methods.remem.plan import Planned
from recollect.models.language import Reply
from recollect.store.protocol import StoreReader

FOUND_KINDS: Final = (ItemKind.GIST, ItemKind.TRIPLE)
"""What the tools find."""

CONCLUDE: Final = "conclude"
NO_ROOM: Final = "{left} of {found} gists and facts that were found do not fit into max_tokens"
UNREAD: Final = (
    "messages of which no gists or facts were made so far: {count}; `bank.reread()` has them read in the background, "
    "and `bank.work()` does at once what waits there"
)
UNMADE: Final = (
    "the bank holds no gists and no facts; a recipe such as remem makes them of what it retains, in the background, "
    "and `bank.work()` does at once what waits there"
)
LEFT_OUT: Final = "the question leaves out gists and facts by their kinds, and this recipe finds nothing else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """All that an answer's receipt and trace are made of, but the last call.

    ``shown`` is the evidence that there was room for, of ``found`` in all; ``began`` is a moment on the performance
    counter; ``lost`` is what failed calls have cost.
    """

    query: Query
    reader: StoreReader
    began: float
    shown: tuple[Numbered, ...] = ()
    found: int = 0
    trace: tuple[Step, ...] = ()
    replies: tuple[Reply[Planned], ...] = ()
    lost: Usage = Usage()
    notes: tuple[str, ...] = ()


async def nothing_known(query: Query, reader: StoreReader) -> bool:
    """Whether there is nothing that a tool could find, however it is called."""
    kinds = [kind for kind in FOUND_KINDS if not query.scope.kinds or kind in query.scope.kinds]
    return not kinds or not await reader.items_of(kinds, superseded=True, limit=1)


async def answered(ending: Ending, reply: Reply[Recollected] | Reply[Reflected] | None, seconds: float = 0.0) -> Answer:
    """The answer of the last call, and what that took; ``None`` where nothing was found, and so there was no call."""
    if reply is None:
        return await _abstained(ending)
    said = reply.value
    step = Step(action=CONCLUDE, detail=_reasons(said), seconds=seconds)
    return Answer(
        text=said.answer,
        abstained=said.abstained,
        citations=cited(said.citations, ending.shown),
        evidence=tuple(one.evidence for one in ending.shown),
        trace=(*ending.trace, step),
        receipt=_receipt(ending, [*ending.replies, reply], (*_left_out(ending), *reply.notes)),
    )


async def _abstained(ending: Ending) -> Answer:
    notes = tuple(_left_out(ending)) or await _why_nothing(ending)
    return Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=(),
        trace=ending.trace,
        receipt=_receipt(ending, ending.replies, notes),
    )


async def _why_nothing(ending: Ending) -> tuple[str, ...]:
    """What a caller should know where nothing was found: that may be for want of reading, and not of memory."""
    kinds = ending.query.scope.kinds
    if kinds and not set(kinds) & set(FOUND_KINDS):
        return (LEFT_OUT,)
    if unread := await ending.reader.unread():
        return (UNREAD.format(count=len(unread)),)
    return (UNMADE,) if await nothing_known(ending.query, ending.reader) else ()


def _left_out(ending: Ending) -> tuple[str, ...]:
    left = ending.found - len(ending.shown)
    return (NO_ROOM.format(left=left, found=ending.found),) if left else ()


def _reasons(said: Conclusion) -> str:
    if isinstance(said, Recollected):
        return one_line(said.reasoning)
    parts = (said.reasoning, f"timeline: {'; '.join(said.timeline)}", f"reflection: {said.reflection}")
    return " ".join(map(one_line, parts))


Replies = Sequence[Reply[Planned] | Reply[Recollected] | Reply[Reflected]]


def _receipt(ending: Ending, replies: Replies, notes: Sequence[str]) -> AnswerReceipt:
    return receipt_of((), replies, ending.began, (*ending.notes, *notes), lost=ending.lost)
