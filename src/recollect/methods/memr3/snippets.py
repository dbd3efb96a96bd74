"""Render snippets for a prompt, whoever found them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.answering.evidence import dated, indented, said
from recollect.domain.loops import Snippet
from recollect.domain.recalls import Evidence
from recollect.text.when import describe


def numbered(found: Sequence[Evidence], after: int) -> tuple[Snippet, ...]:
    """Return the evidence as snippets, numbered from ``after + 1`` on, in the retriever's order.

    Of the bank's own items every time that they speak of is shown. A retriever may bring what the bank does not hold:
    then what it tells itself is all that is known.
    """
    return tuple(
        Snippet(number=number, evidence=one, shown=f"[{number}] {_rendered(one)}")
        for number, one in enumerate(found, start=after + 1)
    )


def _rendered(evidence: Evidence) -> str:
    if evidence.item is not None:
        return dated(evidence.item)
    told = "; ".join(_told(evidence))
    return f"({told}) {indented(evidence.text)}" if told else indented(evidence.text)


def _told(evidence: Evidence) -> Iterator[str]:
    if known := said(evidence.mentioned, evidence.speaker):
        yield known
    if evidence.occurred is not None:
        yield f"time {describe(evidence.occurred)}"
