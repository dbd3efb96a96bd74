"""Order the first candidates by a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from recollect.domain.items import Item
from recollect.errors import ModelError
from recollect.models.reranker import Reranker
from recollect.text.time_expressions import describe_interval


async def rerank_items(reranker: Reranker, question: str, tiers: Sequence[Sequence[Item]], top: int) -> list[list[int]]:
    """Return the positions of the items of each tier, best first, with one call of the reranker.

    The first ``top`` of a tier are in the reranker's order. The others keep their order.

    Raises:
        ModelUnavailable: the reranker could not be reached.
        ModelError: it returned more or fewer scores than there are passages.
    """
    passages = [render_passage(item) for items in tiers for item in items[:top]]
    scores = await reranker.score(question, passages)
    if len(scores) != len(passages):
        raise ModelError(f"the reranker {reranker.name} returned {len(scores)} scores for {len(passages)} passages")
    left = iter(scores)
    return [_rank_positions(list(islice(left, min(top, len(items)))), len(items)) for items in tiers]


def _rank_positions(scores: Sequence[float], count: int) -> list[int]:
    """Return positions by their scores. Those without a score come last, in their own order."""
    return [*sorted(range(len(scores)), key=lambda at: (-scores[at], at)), *range(len(scores), count)]


def render_passage(item: Item) -> str:
    """Return an item as a reranker reads it: its date, its speaker, its words, and the times in the words.

    The text contains dates because rerankers know nothing else about time (Hindsight, section 4.2.4).
    """
    said = f"[{item.mentioned:%d %B %Y}] {item.speaker}: {item.text}"
    told = "; ".join(f"{o.words}: {describe_interval(o.interval)}" for o in item.occurrences)
    return f"{said} ({told})" if told else said
