"""MemR3 over Graphiti: its own search and ranking over a stub of a graph database."""

from datetime import UTC, datetime

import pytest

pytest.importorskip("graphiti_core")

from foreign_memories import AT, NOW, TEXTS, aembed, all_of, found, said
from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.driver.driver import GraphDriver, GraphProvider
from graphiti_core.driver.search_interface.search_interface import SearchInterface
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.llm_client import LLMClient
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF
from graphiti_core.search.search_filters import SearchFilters

from recollect.domain.items import ItemKind
from recollect.domain.time import Interval, Precision
from recollect.errors import RecallFailed
from recollect.integrations.graphiti import GraphitiRetriever


class Edges(SearchInterface):
    """What a graph database would find: by words in common, and by meaning."""

    edges: list
    asked: list
    down: bool = False

    async def edge_fulltext_search(self, driver, query, search_filter, group_ids=None, limit=100):
        if self.down:
            raise ConnectionError("gone")
        self.asked.append((query, group_ids, limit, search_filter))
        asked = set(query.lower().strip("?").split())
        return [edge for edge in self._of(group_ids) if asked & set(edge.fact.lower().strip(".").split())][:limit]

    async def edge_similarity_search(
        self, driver, search_vector, source, target, search_filter, group_ids=None, limit=100, min_score=0.7
    ):
        return self._of(group_ids)[:limit]

    def _of(self, group_ids):
        return [edge for edge in self.edges if group_ids is None or edge.group_id in group_ids]


class Driver(GraphDriver):
    """A graph database of which nothing but searching is there."""

    provider = GraphProvider.NEO4J
    _database = "neo4j"

    def __init__(self, edges):
        self.search_interface = Edges(edges=edges, asked=[])

    def execute_query(self, cypher_query_, **kwargs):
        raise AssertionError(f"the search has a stub, and this is no part of it: {cypher_query_}")

    def session(self, database=None):
        raise AssertionError("no session is needed")

    def close(self):
        pass

    def delete_all_indexes(self):
        raise AssertionError("nothing is deleted")

    async def build_indices_and_constraints(self, delete_existing=False):
        pass


class Ours(EmbedderClient):
    async def create(self, input_data):
        return (await aembed(input_data))[0]


class Silent(LLMClient):
    async def _generate_response(self, messages, response_model=None, max_tokens=0, model_size=None):
        raise AssertionError("searching asks no model")


class Unasked(CrossEncoderClient):
    async def rank(self, query, passages):
        raise AssertionError("edges are ranked without a model")


def edge(number, **more):
    given = {
        "uuid": f"e{number}",
        "group_id": "sample",
        "source_node_uuid": "n1",
        "target_node_uuid": f"n{number + 2}",
        "created_at": NOW,
        "name": "TELLS",
        "fact": TEXTS[number],
        "episodes": [f"m{number}"],
        **more,
    }
    return EntityEdge(**given)


def graphiti(*edges):
    driver = Driver(list(edges) or [edge(at) for at in range(len(TEXTS))])
    made = Graphiti(graph_driver=driver, llm_client=Silent(LLMConfig()), embedder=Ours(), cross_encoder=Unasked())
    return made, driver.search_interface


@pytest.mark.parametrize("k", [1, 3, 50])
async def test_everything_comes_once_k_at_a_time(k):
    rounds = await all_of(GraphitiRetriever(graphiti()[0]), k)
    assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS)
    assert all(len(brought) == k for brought in rounds[:-1])


async def test_an_edge_is_a_fact_with_its_times_and_episodes():
    year = datetime(2023, 1, 1, tzinfo=UTC)
    held = edge(0, reference_time=said(0), valid_at=year, invalid_at=AT, episodes=["m0", "m9"])
    made, _ = graphiti(
        held, edge(1, valid_at=AT), edge(2, valid_at=NOW, invalid_at=AT), edge(3, invalid_at=AT), edge(4)
    )
    first, *rest = (await found(GraphitiRetriever(made))).evidence
    assert (first.id, first.text, first.kind, first.session) == ("e1", TEXTS[1], ItemKind.FACT, "sample")
    facts = {one.id: one for one in (first, *rest)}
    assert (facts["e0"].mentioned, facts["e0"].sources) == (said(0), ("m0", "m9"))
    assert {id_: fact.occurred for id_, fact in facts.items()} == {
        "e0": Interval(start=year, end=AT, precision=Precision.RANGE),
        "e1": Interval(start=AT, end=None, precision=Precision.RANGE),
        "e2": Interval(start=NOW, end=None, precision=Precision.RANGE),
        "e3": Interval(start=None, end=AT, precision=Precision.RANGE),
        "e4": None,
    }
    assert facts["e4"].mentioned == NOW
    assert first.score > min(fact.score for fact in rest) > 0


async def test_groups_and_filters_are_passed_on_and_the_shared_configuration_is_left_alone():
    before = EDGE_HYBRID_SEARCH_RRF.limit
    made, edges = graphiti(edge(0), edge(1, group_id="other"))
    narrow = SearchFilters(edge_types=["TELLS"])
    recall = await found(GraphitiRetriever(made, group_ids=["other"], search_filter=narrow), limit=7)
    assert [one.id for one in recall.evidence] == ["e1"]
    assert edges.asked == [("Which cat sleeps?", ["other"], 14, narrow)]
    assert EDGE_HYBRID_SEARCH_RRF.limit == before


async def test_a_database_that_is_down_is_told():
    made, edges = graphiti()
    edges.down = True
    with pytest.raises(RecallFailed, match="graphiti: ConnectionError: gone"):
        await found(GraphitiRetriever(made))
