"""From found candidates to evidence: fused, loaded, reranked, cut, with reasons and a receipt."""

import pytest
from recall_fakes import NOW, FakeReader, FakeSearch, item, numbers, recall, reports

from recollect.domain.links import LinkKind
from recollect.domain.queries import Scope
from recollect.domain.recalls import ArmRank
from recollect.domain.signals import SIGNAL_NAMES, Weights
from recollect.errors import ModelUnavailable
from recollect.recall.settings import Arm, Fusion, RecallSettings
from recollect.testing.models import OverlapReranker

RRF = RecallSettings(fusion=Fusion.RRF, arms=(Arm.SEMANTIC, Arm.LEXICAL))
MEANING = RecallSettings(weights=Weights(**{**dict.fromkeys(SIGNAL_NAMES, 0.0), "meaning": 2.0}))
TWO = {"semantic": ((1, 0.9), (2, 0.8)), "lexical": ((2, 0.7), (3, 0.6))}


async def test_reciprocal_ranks_put_in_order():
    recalled = await recall(FakeSearch(**TWO), settings=RRF)
    assert numbers(recalled) == [2, 1, 3]
    scores = [evidence.score for evidence in recalled.evidence]
    assert scores == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62], abs=1e-6)
    assert recalled.receipt.fusion == "rrf"


async def test_signals_put_in_order_and_equal_ones_keep_the_arms_order():
    search = FakeSearch(semantic=((1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6)), meaning={1: 0.1, 2: 0.4, 3: 0.4, 4: 0.9})
    recalled = await recall(search, settings=MEANING)
    assert numbers(recalled) == [4, 2, 3, 1]
    assert [evidence.score for evidence in recalled.evidence] == pytest.approx([0.9, 0.4, 0.4, 0.1])
    assert recalled.receipt.fusion == "calibrated"


async def test_activation_is_weighed_for_all_candidates():
    search = FakeSearch(semantic=((1, 0.5),), lexical=((7, 0.5),), edges=[(1, 2, 1.0, LinkKind.ENTITY)])
    await recall(search, "red bicycle")
    (_, refs, graph) = next(call for call in search.calls if call[0] == "signals")
    activation = dict(zip(refs, graph, strict=True))
    assert activation == {1: 0.5, 7: 0.0, 2: pytest.approx(0.5 * 0.7 * 1.2)}


async def test_why_tells_arms_and_ranks():
    recalled = await recall(FakeSearch(**TWO), "red bicycle", settings=RRF)
    why = {number: evidence.why for number, evidence in zip(numbers(recalled), recalled.evidence, strict=True)}
    close = pytest.approx
    assert why[1] == (ArmRank(arm="semantic", rank=1, score=close(0.9)),)
    assert why[2] == (
        ArmRank(arm="semantic", rank=2, score=close(0.8)),
        ArmRank(arm="lexical", rank=1, score=close(0.7)),
    )
    assert why[3] == (ArmRank(arm="lexical", rank=2, score=close(0.6)),)


MANY = tuple((n, 1 - n / 100) for n in range(30))


@pytest.mark.parametrize(
    ("limit", "max_tokens", "count"), [(20, None, 20), (20, 55, 5), (3, 55, 3), (50, None, 30), (50, 9, 0), (1, 10, 1)]
)
async def test_what_is_cut_adds_up(limit, max_tokens, count):
    recalled = await recall(
        FakeSearch(semantic=MANY, meaning=dict(MANY)), settings=MEANING, limit=limit, max_tokens=max_tokens
    )
    receipt = recalled.receipt
    assert numbers(recalled) == list(range(count))
    assert (receipt.candidates, receipt.tokens) == (30, 10 * count)
    assert receipt.cut_by_limit == max(0, 30 - limit)
    assert count + receipt.cut_by_limit + receipt.cut_by_budget == receipt.candidates


async def test_the_first_that_does_not_fit_ends_it():
    items = {1: item(1, tokens=5), 2: item(2, tokens=90), 3: item(3, tokens=1)}
    search = FakeSearch(semantic=((1, 0.9), (2, 0.8), (3, 0.7)), items=items, meaning={1: 0.9, 2: 0.8, 3: 0.7})
    recalled = await recall(search, settings=MEANING, max_tokens=20)
    assert numbers(recalled) == [1]
    assert recalled.receipt.cut_by_budget == 2


async def test_what_is_gone_meanwhile_is_left_out():
    recalled = await recall(FakeSearch(**TWO, gone={2}), settings=RRF)
    assert numbers(recalled) == [1, 3]


async def test_evidence_is_what_the_item_tells():
    recalled = await recall(FakeSearch(semantic=((1, 0.9),)), settings=RRF)
    (evidence,), expected = recalled.evidence, item(1)
    for name in ("id", "kind", "text", "session", "speaker", "sources", "mentioned", "occurred", "tokens"):
        assert getattr(evidence, name) == getattr(expected, name), name


async def test_the_question_and_its_scope_reach_the_store():
    reader, scope = FakeReader(FakeSearch(**TWO), speakers=("Ada", "user")), Scope(sessions=("s",))
    recalled = await recall(None, 'When did Ada say "good dog" last month?', reader=reader, scope=scope)
    ((probe, given, _),) = reader.opened
    assert given == scope
    assert (probe.speakers, probe.phrases, probe.asks_when) == (("Ada",), ("good dog",), True)
    assert probe.during == recalled.receipt.during


async def test_the_receipt_tells_the_time_asked_about():
    recalled = await recall(FakeSearch(**TWO), "What did I do last month?")
    assert (recalled.receipt.during.start.month, recalled.receipt.during.end) == (4, NOW.replace(day=1, hour=0))
    assert recalled.receipt.seconds >= max(report.seconds for report in recalled.receipt.arms)


BIKES = {n: item(n, text=text) for n, text in enumerate(["blue car", "a bicycle", "a red bicycle", "red"])}
NEAR = {
    "semantic": tuple((n, 0.9 - n / 10) for n in BIKES),
    "items": BIKES,
    "meaning": {n: 0.9 - n / 10 for n in BIKES},
}


async def test_a_reranker_has_the_last_word_over_the_first():
    recalled = await recall(FakeSearch(**NEAR), "red bicycle", reranker=OverlapReranker(), settings=MEANING)
    assert numbers(recalled) == [2, 1, 3, 0]
    assert (recalled.receipt.reranker, recalled.receipt.notes) == ("overlap", ())


async def test_a_reranker_looks_beyond_the_limit():
    recalled = await recall(FakeSearch(**NEAR), "red bicycle", reranker=OverlapReranker(), settings=MEANING, limit=1)
    assert numbers(recalled) == [2]
    assert recalled.receipt.cut_by_limit == 3


async def test_only_the_top_is_reranked():
    settings = RecallSettings(weights=MEANING.weights, rerank_top=2)
    recalled = await recall(FakeSearch(**NEAR), "red bicycle", reranker=OverlapReranker(), settings=settings)
    assert numbers(recalled) == [1, 0, 2, 3]


class Down(OverlapReranker):
    async def score(self, query, passages):
        raise ModelUnavailable("connection refused")


async def test_a_reranker_that_is_down_leaves_the_order_and_a_note():
    recalled = await recall(FakeSearch(**NEAR), "red bicycle", reranker=Down(), settings=MEANING)
    assert numbers(recalled) == [0, 1, 2, 3]
    (note,) = recalled.receipt.notes
    assert "overlap" in note
    assert "connection refused" in note
    assert recalled.receipt.reranker == "overlap"


async def test_nothing_found_is_nothing_to_rerank():
    recalled = await recall(FakeSearch(), reranker=Down())
    assert (recalled.evidence, recalled.receipt.notes, recalled.receipt.complete) == ((), (), True)
    assert set(reports(recalled)) == {arm.value for arm in Arm}
