"""Over Graphiti: the facts on the edges of its graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.domain.items import ItemKind
from recollect.domain.time import Interval, Precision
from recollect.errors import MissingExtra
from recollect.integrations.fields import moment
from recollect.integrations.foreign import ForeignRetriever, Found


class GraphitiRetriever(ForeignRetriever):
    """Finds facts on the edges of a ``graphiti_core.Graphiti``. See :class:`recollect.ports.Retriever`.

    A fact counts as said at its episode's reference time, else when Graphiti stored it, and has happened from
    ``valid_at`` to ``invalid_at``. Its sources are the ids of its episodes. Graphiti cannot leave out edges by their
    ids: more is asked for.

    Args:
        graphiti: what is asked; its own settings say what it sends where.
        group_ids: the parts of its graph to search in; all where left out.
        config: a ``SearchConfig``, whose limit is set anew for each search; Graphiti's hybrid search over edges, ranked
            by reciprocal ranks, where left out.
        search_filter: a ``SearchFilters``, to narrow every search to.
        deadline_s: how long it may take, in seconds.

    Raises:
        MissingExtra: graphiti-core is not installed.
    """

    def __init__(
        self,
        graphiti: Any,
        *,
        group_ids: Sequence[str] | None = None,
        config: Any = None,
        search_filter: Any = None,
        deadline_s: float = 30.0,
    ) -> None:
        backend = _Graphiti(graphiti, group_ids, config or _hybrid(), search_filter)
        super().__init__(backend, deadline_s=deadline_s)


class _Graphiti:
    name = "graphiti"
    masks = False

    def __init__(self, graphiti: Any, group_ids: Sequence[str] | None, config: Any, search_filter: Any) -> None:
        self._graphiti, self._config, self._search_filter = graphiti, config, search_filter
        self._group_ids = None if group_ids is None else list(group_ids)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[Found]:
        # Not Graphiti.search: it writes the limit into a configuration that all searches of the process share.
        given = await self._graphiti.search_(
            text,
            config=self._config.model_copy(update={"limit": count}),
            group_ids=self._group_ids,
            search_filter=self._search_filter,
        )
        scores = [*given.edge_reranker_scores, *(0.0 for _ in given.edges)]
        return [_found(edge, float(score)) for edge, score in zip(given.edges, scores, strict=False)]


def _hybrid() -> Any:
    try:
        from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF
    except ImportError as exc:
        raise MissingExtra("graphiti-core", "graphiti") from exc
    return EDGE_HYBRID_SEARCH_RRF


def _found(edge: Any, score: float) -> Found:
    return Found(
        id=edge.uuid,
        text=edge.fact,
        at=moment(edge.reference_time) or moment(edge.created_at),
        occurred=_held(edge),
        session=edge.group_id,
        sources=tuple(edge.episodes),
        score=score,
        kind=ItemKind.FACT,
    )


def _held(edge: Any) -> Interval | None:
    """From when to when it was so; an end that lies before the start is none."""
    start, end = moment(edge.valid_at), moment(edge.invalid_at)
    if start is None and end is None:
        return None
    if start is not None and end is not None and end < start:
        end = None
    return Interval(start=start, end=end, precision=Precision.RANGE)
