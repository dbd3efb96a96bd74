"""Hindsight's numbered equations, each against numbers worked out by hand: those that need no language model.

These are TEMPR's, 1 to 5, 7 to 17, 32 and 33; the others are in ``test_equations_cara.py``. Where we do otherwise than
the paper, the test says how. Recall is tried over small banks whose vectors, words and links are written down, so that
no embedder has a say.
"""

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from recollect.domain.changes import Changeset, Session
from recollect.domain.entities import EntityKind, Mention
from recollect.domain.items import IndexedItem, Item, ItemKind, Network, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.queries import Query, Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, Precision
from recollect.models.embedders.vectors import normalize_rows
from recollect.recall.arms import ArmInput, run_graph, run_temporal
from recollect.recall.fusion import fuse_ranks
from recollect.recall.pipeline import TemprRetriever
from recollect.recall.rerank import rerank_items
from recollect.recall.settings import Arm, Fusion, RecallSettings, SearchBudget, SpreadSettings
from recollect.recall.spread import spread_step
from recollect.recall.trim import count_fitting
from recollect.recipes import RECIPES
from recollect.retain.directory import EntityDirectory, make_entity_id, normalize_surface
from recollect.retain.link import LinkSettings, make_entity_links, make_semantic_links, make_temporal_links
from recollect.retain.name_similarity import ResolveSettings
from recollect.retain.resolve import NameOccurrence, resolve_names
from recollect.store.search import LINK_KINDS, Edges
from recollect.store.sqlite.folder import SqliteFolder
from recollect.text.terms import extract_terms

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=900)
CLOSE = 1e-3  # vectors are kept in half precision
EAST = np.array([1, 0], dtype=np.float32)
MEANING_ALONE = Weights(surroundings=0.0)
PERSON = EntityKind.PERSON


class East:
    """Embeds whatever is asked as (1, 0), so that an item's cosine is the first number of its vector."""

    name, dimension = "east", 2

    async def embed(self, texts, *, purpose="document"):
        return np.tile(EAST, (len(texts), 1))


def entry(id_, vector=(0, 1), text="", *, hours=None, session=None, at=LONG_AGO, **more):
    """A fact with this vector and the words of this text, alone in its session; ``hours`` after NOON it happened."""
    told = () if hours is None else (Occurrence(words="then", interval=between(*hours)),)
    base = {"kind": ItemKind.FACT, "network": Network.WORLD, "sources": ("m1",), "recorded": NOON, "speaker": "Ada"}
    item = Item(id=id_, text=text, session=session or id_, mentioned=at, occurrences=told, **{**base, **more})
    return IndexedItem(
        item=item, vector=normalize_rows(np.array([vector], dtype=np.float32))[0], terms=extract_terms(text)
    )


def between(start, end):
    return Interval(start=NOON + timedelta(hours=start), end=NOON + timedelta(hours=end), precision=Precision.RANGE)


@asynccontextmanager
async def bank(*entries, links=()):
    said = StoredMessage(
        id="m1",
        session="s",
        position=0,
        speaker="Ada",
        role=Role.USER,
        text="",
        captions=(),
        at=NOON,
        recorded=NOON,
    )
    folder = SqliteFolder(":memory:")
    store = await folder.open("tiny", embedder=East.name, dimension=East.dimension)
    session = Session(id="s", started=NOON)
    await store.commit(Changeset(sessions=(session,), messages=(said,), items=entries, links=links))
    yield store
    await folder.close()


def probe(text="", during=None):
    return SearchProbe(topic=text, vector=EAST, terms=np.unique(extract_terms(text)), during=during)


async def hits(search, found):
    """Ids and scores, best first."""
    named = dict(await search.load(found.refs))
    pairs = zip(found.refs.tolist(), found.scores.tolist(), strict=True)
    return [(named[ref].id, pytest.approx(score, abs=CLOSE)) for ref, score in pairs]


async def recalled(store, text="one kite", *, reranker=None, settings=None, **more):
    retriever = TemprRetriever(East(), reranker=reranker, settings=settings or RECIPES["tempr"].recall)
    return await retriever.retrieve(Query(text=text, now=NOON, **more), store)


def told(links):
    return [(link.source, link.target, pytest.approx(link.weight, abs=1e-5)) for link in links]


async def test_equation_1_a_memory_unit():
    """f = (u, b, t, v, tau_s, tau_e, tau_m, l, c, x), as it is read again from the bank.

    The type l is a kind and, of facts, a network. Of x we keep source, speaker and words, and no count of accesses.
    """
    belief = {"kind": ItemKind.OPINION, "network": None, "confidence": 0.7}
    kept = entry("u1", (3, 4), "Ada found a red kite", hours=(-2, -1), at=NOON, **belief)
    async with bank(kept, entry("u2", network=Network.EXPERIENCE)) as store:
        unit, fact = await store.items(["u1", "u2"])
        parts = [part async for part in store.dump()]
        assert store.name == "tiny"
    (again,) = [one for part in parts for one in part.items if one.item.id == "u1"]
    assert unit == kept.item
    assert (unit.id, unit.text, unit.mentioned) == ("u1", "Ada found a red kite", NOON)
    assert (unit.occurred.start, unit.occurred.end) == (NOON - timedelta(hours=2), NOON - timedelta(hours=1))
    assert (unit.kind, unit.confidence, unit.sources) == (ItemKind.OPINION, 0.7, ("m1",))
    assert again.vector.tolist() == pytest.approx([0.6, 0.8], abs=CLOSE)  # (3, 4) / 5
    assert len(again.terms) == 4  # "a" is no term
    assert (fact.kind, fact.network, fact.confidence, fact.occurred) == (ItemKind.FACT, Network.EXPERIENCE, None, None)


def test_equation_2_entity_resolution():
    """alpha 0.6, beta 0.25, gamma 0.15, sigma 30 days. Both are one letter in eleven away: string 10/11 = 0.909091.

    Tchaikowsky was named just now:            0.6 * 0.909091 + 0.25 * 0 + 0.15 * 1        = 0.695455
    Tchaikovzky 30 days ago, once with Leeds:  0.6 * 0.909091 + 0.25 * 1 + 0.15 * 0.367879 = 0.850636

    Unlike the paper's argmax over all entities, ours names a new one where the best scores under 0.6, leads by less
    than 0.05, or a veto speaks against it.
    """
    before, directory = NOON - timedelta(days=30), EntityDirectory()
    known = [
        NameOccurrence(item="i1", surface="Tchaikovzky", kind=PERSON, at=before, other_names=("Leeds",)),
        NameOccurrence(item="i1", surface="Leeds", kind=EntityKind.LOCATION, at=before, other_names=("Tchaikovzky",)),
        NameOccurrence(item="i2", surface="Tchaikowsky", kind=PERSON, at=NOON),
    ]
    directory.apply(resolve_names(known, directory))
    named = NameOccurrence(item="i3", surface="Tchaikovsky", kind=PERSON, at=NOON, other_names=("Leeds",))
    (merge,) = resolve_names([named], directory).merges
    assert merge.entity == make_entity_id(normalize_surface("Tchaikovzky"))
    assert (merge.string, merge.cooccurrence) == (pytest.approx(0.909091, abs=1e-6), 1.0)
    assert (merge.temporal, merge.score) == (pytest.approx(0.367879, abs=1e-6), pytest.approx(0.850636, abs=1e-6))
    nearest = ResolveSettings(alpha=0.6, beta=0.0, gamma=0.4)  # other weights, another argmax
    (merge,) = resolve_names([named], directory, nearest).merges
    assert merge.entity == make_entity_id(normalize_surface("Tchaikowsky"))
    assert merge.score == pytest.approx(0.945455, abs=1e-6)  # 0.6 * 10/11 + 0.4


async def test_equation_3_entity_links():
    """(f_i, f_j, 1.0, entity, e) for items that name e, walked from both ends; to the last three, not to all."""
    mentions = [Mention(entity="e", item="new", surface="Ada"), Mention(entity="other", item="new", surface="Ben")]
    links = list(make_entity_links(mentions, {"e": ["f4", "f3", "f2", "f1"]}, LinkSettings()))
    assert told(links) == [("new", "f4", 1.0), ("new", "f3", 1.0), ("new", "f2", 1.0)]
    assert {(link.kind, link.label) for link in links} == {(LinkKind.ENTITY, "e")}
    async with bank(entry("new"), entry("f4"), links=links[:1]) as store:
        search = await store.search(probe(), Scope(), Weights())
        both = (await search.semantic(9)).refs
        edges = await search.edges(both, 9)
    walked = set(zip(edges.origins.tolist(), edges.targets.tolist(), edges.weights.tolist(), strict=True))
    one, other = both.tolist()
    assert walked == {(one, other, 1.0), (other, one, 1.0)}


def test_equation_4_temporal_links():
    """exp(-dt / sigma), sigma a day. 12 hours: exp(-0.5) = 0.606531; 36 hours: exp(-1.5) = 0.223130.

    To the two nearest only, and none under 0.01, which is past 4.6 days: exp(-5) is 0.0067.
    """
    late, middle, first = (entry(id_, at=NOON + timedelta(hours=h)).item for id_, h in (("l", 36), ("m", 24), ("f", 0)))
    assert told(make_temporal_links([late], [first, middle], LinkSettings())) == [
        ("l", "f", 0.223130),
        ("l", "m", 0.606531),
    ]
    past = entry("p", at=NOON - timedelta(days=5)).item
    assert told(make_temporal_links([first], [past], LinkSettings())) == []
    (link,) = make_temporal_links([middle], [first], LinkSettings(temporal_sigma=timedelta(days=4)))
    assert (link.kind, link.weight) == (LinkKind.TEMPORAL, pytest.approx(0.778801, abs=1e-6))  # exp(-1/4)


def test_equation_5_semantic_links():
    """The cosine where it is at least theta_s = 0.6: (1, 0) with (4, 3)/5 is 0.8, with (3, 4)/5 just 0.6, and with
    (5, 12)/13 0.3846, which is none. To the three most alike only."""
    batch = [entry("a", (1, 0)), entry("b", (4, 3)), entry("c", (5, 12))]
    links = list(make_semantic_links(batch, [[("old", 0.6), ("older", 0.5999)], [], []], LinkSettings()))
    # b with c: (4 * 5 + 3 * 12) / 65 = 56 / 65 = 0.861538
    assert told(links) == [("a", "old", 0.6), ("b", "a", 0.8), ("c", "b", 0.861538)]
    assert {link.kind for link in links} == {LinkKind.SEMANTIC}


@pytest.mark.parametrize(
    ("budget", "ids", "spent"),
    [
        (75, ["a", "b"], 70),  # 30 + 40 <= 75 < 30 + 40 + 50
        (120, ["a", "b", "c"], 120),  # just so
        (119, ["a", "b"], 70),
        (69, ["a"], 30),  # c would not fit either, but d, of 5, is not let past b
        (29, [], 0),
        (None, ["a", "b", "c", "d"], 125),
    ],
)
async def test_equations_7_8_17_32_recall_within_a_token_budget(budget, ids, spent):
    """The first of the ranking whose costs add up to at most k, the next of which would not fit any more.

    A recall may also be given a limit of items (20 where none is): that may end it before the budget does.
    """
    vectors = {"a": (4, 3, 30), "b": (3, 4, 40), "c": (5, 12, 50), "d": (0, 1, 5)}
    entries = [entry(id_, (x, y), tokens=cost) for id_, (x, y, cost) in vectors.items()]
    settings = RecallSettings(arms=(Arm.SEMANTIC,), fusion=Fusion.RRF)
    async with bank(*entries) as store:
        found = await recalled(store, settings=settings, max_tokens=budget)
    assert ([one.id for one in found.evidence], found.receipt.tokens) == (ids, spent)
    assert count_fitting([30, 40, 50, 5], budget) == len(ids)


async def test_equations_9_10_semantic_retrieval():
    """Cosines with (1, 0): of (4, 3) 0.8, of (3, 4) 0.6, of (0, 5) 0, of (-3, -4) -0.6; the best k of them.

    By default an item's neighbours in its session have a say in the arm (``surroundings``, 5 to 6); without it, and
    for items that stand alone, it is equation 9. The index is exact up to 250,000 items, a graph (HNSW) beyond.
    """
    vectors = {"d": (-3, -4), "b": (3, 4), "a": (4, 3), "c": (0, 5)}
    together = [entry(id_, vector, session="one", order=n) for n, (id_, vector) in enumerate(vectors.items())]
    alone = [entry(id_, vector) for id_, vector in vectors.items()]
    for entries, weights in ((together, MEANING_ALONE), (alone, Weights())):
        async with bank(*entries) as store:
            search = await store.search(probe(), Scope(), weights)
            assert await hits(search, await search.semantic(9)) == [("a", 0.8), ("b", 0.6), ("c", 0.0), ("d", -0.6)]
            assert await hits(search, await search.semantic(2)) == [("a", 0.8), ("b", 0.6)]


async def test_equation_11_bm25():
    """BM25 with k1 1.2, b 0.75, given as a share of the most that the question's words could get.

    Lengths 2, 4, 3, so 3 on average. Of 3 texts 2 have "red": ln(1 + 1.5/2.5) = 0.470004; 1 has "bicycle":
    ln(1 + 2.5/1.5) = 0.980829. Without (k1 + 1), which is in the share above and below, a word of tf gets
    idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / 3)).
    a: (0.470004 + 0.980829) * 1 / (1 + 0.9) = 0.763596; of 1.450833 that is 0.526316
    b: 0.470004 * 2 / (2 + 1.5) = 0.268574; of 1.450833 that is 0.185117
    c shares no word, and is not found.

    Three texts count by default: the exchange, passage and session that an item stands in; alone, it is each of them.
    """
    texts = {"a": "red bicycle", "b": "red red kite kite", "c": "green paper boat"}
    async with bank(*(entry(id_, text=text) for id_, text in texts.items())) as store:
        search = await store.search(probe("Which red bicycle?"), Scope(), Weights())
        found = await hits(search, await search.lexical(9))
        assert found == [("a", 0.526316), ("b", 0.185117)]
        assert await hits(search, await search.lexical(1)) == found[:1]


SPREAD = SpreadSettings()  # decay 0.7; causal 1.3, entity 1.2, semantic 0.9, temporal 0.8


def test_equation_12_a_step_of_spreading_activation():
    """From 0.5: entity 0.5 * 1 * 0.7 * 1.2 = 0.42; causal 0.5 * 1 * 0.7 * 1.3 = 0.455; semantic 0.5 * 0.8 * 0.7 * 0.9
    = 0.252; temporal 0.5 * 0.4 * 0.7 * 0.8 = 0.112. Where two links meet, the most counts, not the sum.

    Ours never passes 1, and leaves out what falls under 0.05.
    """
    walked = [
        (1, 2, 1.0, LinkKind.ENTITY),
        (1, 3, 1.0, LinkKind.CAUSAL),
        (1, 4, 0.8, LinkKind.SEMANTIC),
        (1, 5, 0.4, LinkKind.TEMPORAL),
        (1, 6, 1.0, LinkKind.ENTITY),  # 0.42
        (7, 6, 1.0, LinkKind.CAUSAL),  # 0.2 * 0.91 = 0.182
        (1, 8, 0.1, LinkKind.TEMPORAL),  # 0.028
        (9, 2, 1.0, LinkKind.CAUSAL),  # not active
    ]
    origins, targets, weights, kinds = zip(*walked, strict=True)
    edges = Edges(
        origins=np.array(origins, dtype=np.int64),
        targets=np.array(targets, dtype=np.int64),
        kinds=np.array([LINK_KINDS.index(kind) for kind in kinds], dtype=np.int8),
        weights=np.array(weights, dtype=np.float32),
    )
    reached = spread_step({1: 0.5, 7: 0.2}, edges, SPREAD)
    assert reached == pytest.approx({2: 0.42, 3: 0.455, 4: 0.252, 5: 0.112, 6: 0.42}, abs=1e-6)
    assert max(spread_step({1: 1.0, 7: 1.0, 9: 1.2}, edges, SPREAD).values()) == 1.0


async def test_equation_12_spreading_activation_over_two_steps():
    """Entry points a (0.8) and b (0.6), links a-c entity 1, b-c causal 1, a-e temporal 0.5, c-d semantic 0.9.

    Step 1: c max(0.8 * 0.84, 0.6 * 0.91) = max(0.672, 0.546) = 0.672; e 0.8 * 0.5 * 0.56 = 0.224
    Step 2: d 0.672 * 0.9 * 0.63 = 0.381024; back to b 0.672 * 0.91 = 0.61152, to a 0.672 * 0.84 = 0.56448

    Ours keeps the highest activation of all steps (a stays 0.8), and walks from the 16 most active over the 8 heaviest
    links of each.
    """
    entries = [entry("a", (4, 3)), entry("b", (3, 4)), *(entry(id_) for id_ in "cde")]
    drawn = (
        ("a", "c", LinkKind.ENTITY, 1.0),
        ("c", "b", LinkKind.CAUSAL, 1.0),
        ("a", "e", LinkKind.TEMPORAL, 0.5),
        ("d", "c", LinkKind.SEMANTIC, 0.9),
    )
    links = tuple(Link(source=a, target=b, kind=kind, weight=weight) for a, b, kind, weight in drawn)
    async with bank(*entries, links=links) as store:
        search = await store.search(probe(), Scope(), Weights())
        reach = SearchBudget(candidates=9, entries=2, steps=2)
        found = await run_graph(ArmInput(search=search, probe=probe(), budget=reach, settings=RecallSettings()))
        reached = await hits(search, found)
    assert reached == [("a", 0.8), ("c", 0.672), ("b", 0.61152), ("d", 0.381024), ("e", 0.224)]


def test_equation_12_decay_and_multipliers_are_as_the_paper_bounds_them():
    favoured = {kind for kind, multiplier in SPREAD.multipliers.items() if multiplier > 1}
    assert favoured == {LinkKind.CAUSAL, LinkKind.ENTITY}
    assert 0 < SPREAD.decay < 1


async def test_equations_13_14_temporal_retrieval():
    """Asked about 0 to 24 hours, so the middle is 12 and half the length 12: 1 - |middle - 12| / 12.

    11 to 13: 1; 17 to 19: 1 - 6/12 = 0.5; 20 to 22: 1 - 9/12 = 0.25. -5 to -1 is not in it, nor is -5 to 0, since our
    intervals leave out their ends. Of 12 to 48 only what lies inside counts, 12 to 24: 0.5; the paper's would be
    1 - 18/12 = -0.5. Ours also counts the moment at which something was said, and gives no less than 0.01.
    """
    spans = {"mid": (11, 13), "late": (17, 19), "later": (20, 22), "gone": (-5, -1), "ends": (-5, 0), "long": (12, 48)}
    entries = [
        *(entry(id_, hours=hours) for id_, hours in spans.items()),
        entry("said", hours=(90, 91), at=NOON + timedelta(hours=15)),  # 1 - 3/12
    ]
    asked = probe(during=between(0, 24))
    async with bank(*entries) as store:
        search = await store.search(asked, Scope(), Weights())
        found = await hits(search, await search.temporal(9))
        assert await hits(search, await search.temporal(2)) == found[:2]
    assert found[:2] == [("mid", 1.0), ("said", 0.75)]
    assert sorted(found[2:4]) == [("late", 0.5), ("long", 0.5)]
    assert found[4:] == [("later", 0.25)]


async def test_equation_13_the_walk_in_time_keeps_to_the_time():
    """Room for four: of five in the time, the four nearest its middle, 1 - (0, 1, 2, 3) / 12. From ``mid``, 1.0, entity
    links lead to ``edge``, in the time, and to ``gone``, which is not: ``edge`` comes in with 1 * 1 * 0.7 * 1.2 = 0.84.

    Ours goes through what lies outside to get there, and what it finds so is scored by its activation.
    """
    spans = {"mid": 12, "one": 13, "two": 14, "three": 15, "edge": 23, "gone": 30}
    entries = [entry(id_, hours=(middle - 0.5, middle + 0.5)) for id_, middle in spans.items()]
    links = tuple(Link(source="mid", target=to, kind=LinkKind.ENTITY, weight=1.0) for to in ("edge", "gone"))
    asked = probe(during=between(0, 24))
    async with bank(*entries, links=links) as store:
        search = await store.search(asked, Scope(), Weights())
        reach = SearchBudget(candidates=4, entries=1, steps=1)
        found = await run_temporal(ArmInput(search=search, probe=asked, budget=reach, settings=RecallSettings()))
        assert await hits(search, found) == [("mid", 1.0), ("one", 0.916667), ("two", 0.833333), ("edge", 0.84)]


async def test_equations_15_33_reciprocal_rank_fusion():
    """k 60. By meaning a, b, c; by words c alone; by the graph a (0.8), c (a's 0.8 * 0.91 = 0.728), b (0.6); no time.

    a: 1/61 + 1/61 = 0.032787; b: 1/62 + 1/63 = 0.032002; c: 1/63 + 1/61 + 1/62 = 0.048395

    The recipe ``tempr`` fuses so; ``default`` and ``hindsight`` fuse by calibrated scores, which is a setting.
    """
    entries = [entry("a", (4, 3), "red"), entry("b", (3, 4), "blue"), entry("c", (0, 1), "kite")]
    links = (Link(source="c", target="a", kind=LinkKind.CAUSAL, weight=1.0),)
    async with bank(*entries, links=links) as store:
        found = await recalled(store)
    expected = {"c": 0.048395, "a": 0.032787, "b": 0.032002}
    assert [one.id for one in found.evidence] == list(expected)
    assert {one.id: one.score for one in found.evidence} == pytest.approx(expected, abs=1e-6)
    ranks = {(one.id, why.arm): why.rank for one in found.evidence for why in one.why}
    assert [ranks[id_, "graph"] for id_ in "acb"] == [ranks[id_, "semantic"] for id_ in "abc"] == [1, 2, 3]
    assert RECIPES["tempr"].recall.rrf_k == 60
    lists = [np.array(refs, dtype=np.int64) for refs in ([7, 8], [8], [], [8, 7])]
    assert fuse_ranks(lists[0], lists, 1).tolist() == pytest.approx([1 / 2 + 1 / 3, 1 / 3 + 1 / 2 + 1 / 2])


class Judge:
    """A reranker that scores a passage by the word in it."""

    name = "judge"

    async def score(self, query, passages):
        return [{"red": 0.2, "blue": 0.9, "kite": 0.5}[passage.split()[-1]] for passage in passages]


async def test_equation_16_the_final_ranking_is_the_rerankers():
    """Scores 0.2, 0.9, 0.5 over the fused order a, b, c: b, c, a. Only the first (50) are scored; the rest stay."""
    entries = [entry("a", (4, 3), "red"), entry("b", (3, 4), "blue"), entry("c", (0, 1), "kite")]
    async with bank(*entries) as store:
        found = await recalled(store, "one", reranker=Judge())
    assert [one.id for one in found.evidence] == ["b", "c", "a"]
    items = [one.item for one in entries]
    assert await rerank_items(Judge(), "one", [items], 3) == [[1, 2, 0]]
    assert await rerank_items(Judge(), "one", [items], 2) == [[1, 0, 2]]
