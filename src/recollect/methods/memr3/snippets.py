"""Snippets as a prompt shows them, whoever has found them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from recollect.answering.evidence import dated, indented, said
from recollect.domain.items import Item
from recollect.domain.loops import Snippet
from recollect.domain.recalls import Evidence
from recollect.store.protocol import StoreReader
from recollect.text.when import describe


async def numbered(found: Sequence[Evidence], after: int, reader: StoreReader) -> tuple[Snippet, ...]:
    """Snippets with the numbers that come ``after`` one, in the retriever's order.

    Of the bank's own items every time that they speak of is shown. A retriever may bring what the bank does not hold:
    then what it tells itself is all that is known.
    """
    items = {item.id: item for item in await reader.items([one.id for one in found])}
    return tuple(
        Snippet(number=number, evidence=one, shown=f"[{number}] {_shown(one, items.get(one.id))}")
        for number, one in enumerate(found, start=after + 1)
    )


def _shown(evidence: Evidence, item: Item | None) -> str:
    """The evidence's own words, with what is known of its times; of an item as it was earlier, no later words."""
    if item is not None and (item.kind, item.mentioned) == (evidence.kind, evidence.mentioned):
        whole = evidence.text == item.text
        times = tuple(one for one in item.occurrences if whole or one.words in evidence.text)
        return dated(replace(item, text=evidence.text, occurrences=times))
    told = "; ".join(_told(evidence))
    return f"({told}) {indented(evidence.text)}" if told else indented(evidence.text)


def _told(evidence: Evidence) -> Iterator[str]:
    if known := said(evidence.mentioned, evidence.speaker):
        yield known
    if evidence.occurred is not None:
        yield f"time {describe(evidence.occurred)}"
