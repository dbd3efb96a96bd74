"""Retrieve facts from the edges of a Graphiti graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.domain.items import ItemKind
from recollect.domain.time import Interval, Precision
from recollect.errors import MissingExtra
from recollect.integrations.foreign_memory import ForeignPiece, ForeignRetriever
from recollect.integrations.metadata_fields import parse_moment


class GraphitiRetriever(ForeignRetriever):
    """Finds facts on the edges of a ``graphiti_core.Graphiti``. See :class:`recollect.ports.Retriever`.

    A fact counts as said at the reference time of its episode, or else at the time when Graphiti stored it. It happened
    from ``valid_at`` to ``invalid_at``. Its sources are the ids of its episodes. Graphiti cannot exclude edges by their
    ids, so more is requested.

    Args:
        graphiti: the graph. Its own settings say which data it sends where.
        group_ids: the parts of the graph to search, all by default.
        config: a ``SearchConfig``. Each search sets its limit. The default is Graphiti's hybrid search over edges,
            ranked by reciprocal ranks.
        search_filter: a ``SearchFilters``, applied to every search.
        deadline_s: the maximum time of a search, in seconds.

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
        backend = _GraphitiBackend(graphiti, group_ids, config or _hybrid_config(), search_filter)
        super().__init__(backend, deadline_s=deadline_s)


class _GraphitiBackend:
    name = "graphiti"
    masks = False

    def __init__(self, graphiti: Any, group_ids: Sequence[str] | None, config: Any, search_filter: Any) -> None:
        self._graphiti, self._config, self._search_filter = graphiti, config, search_filter
        self._group_ids = None if group_ids is None else list(group_ids)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[ForeignPiece]:
        # Graphiti.search is not used, because it writes the limit into a configuration that all searches share.
        given = await self._graphiti.search_(
            text,
            config=self._config.model_copy(update={"limit": count}),
            group_ids=self._group_ids,
            search_filter=self._search_filter,
        )
        scores = [*given.edge_reranker_scores, *(0.0 for _ in given.edges)]
        return [_read_edge(edge, float(score)) for edge, score in zip(given.edges, scores, strict=False)]


def _hybrid_config() -> Any:
    try:
        from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF
    except ImportError as exc:
        raise MissingExtra("graphiti-core", "graphiti") from exc
    return EDGE_HYBRID_SEARCH_RRF


def _read_edge(edge: Any, score: float) -> ForeignPiece:
    return ForeignPiece(
        id=edge.uuid,
        text=edge.fact,
        at=parse_moment(edge.reference_time) or parse_moment(edge.created_at),
        occurred=_read_validity(edge),
        session=edge.group_id,
        sources=tuple(edge.episodes),
        score=score,
        kind=ItemKind.FACT,
    )


def _read_validity(edge: Any) -> Interval | None:
    """Return the interval in which the fact was true, or ``None`` if its end lies before its start."""
    start, end = parse_moment(edge.valid_at), parse_moment(edge.invalid_at)
    if start is None and end is None:
        return None
    if start is not None and end is not None and end < start:
        end = None
    return Interval(start=start, end=end, precision=Precision.RANGE)
