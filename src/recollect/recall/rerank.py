"""A reranker's order over the first candidates."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.items import Item
from recollect.errors import ModelError
from recollect.models.reranker import Reranker
from recollect.text.when import describe


async def reranked(reranker: Reranker, question: str, items: Sequence[Item], top: int) -> list[int]:
    """The positions of items, best first: the first ``top`` in the reranker's order, the rest as they were.

    Raises:
        ModelUnavailable: the reranker could not be reached.
        ModelError: it gave more or fewer scores than there are passages.
    """
    head = items[:top]
    scores = await reranker.score(question, [passage(item) for item in head])
    if len(scores) != len(head):
        raise ModelError(f"the reranker {reranker.name} gave {len(scores)} scores for {len(head)} passages")
    order = sorted(range(len(head)), key=lambda at: (-scores[at], at))
    return [*order, *range(len(head), len(items))]


def passage(item: Item) -> str:
    """An item as a reranker reads it: when it was said, by whom, its words, and the times they speak of.

    Dates stand in the text because rerankers know nothing else of time (Hindsight, section 4.2.4).
    """
    said = f"[{item.mentioned:%d %B %Y}] {item.speaker}: {item.text}"
    told = "; ".join(f"{o.words}: {describe(o.interval)}" for o in item.occurrences)
    return f"{said} ({told})" if told else said
