"""Recall over a real store in memory: filters, masks, clocks, and who is found by what."""

from datetime import UTC, datetime, timedelta

import pytest

from recollect import Interval, Memory, Message, Precision, Role
from recollect.domain.recalls import ArmStatus
from recollect.domain.signals import Weights
from recollect.errors import InvalidInput, NaiveDatetime
from recollect.recall.settings import Arm, Fusion, RecallSettings
from recollect.recipes import Recipe
from recollect.testing.models import HashEmbedder, OverlapReranker
from recollect.text.tokens import count_tokens

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.now = MAY

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def bank(clock):
    async with Memory.open(":memory:", embedder=HashEmbedder(), clock=clock) as memory:
        yield await memory.bank("ada")


def said(*lines, start=MAY, every=timedelta(minutes=1)):
    """Messages from "Speaker: words"; ids are m0, m1, ...; "assistant" answers."""
    for n, line in enumerate(lines):
        speaker, _, text = line.partition(": ")
        role = Role.ASSISTANT if speaker == "assistant" else Role.USER
        yield Message(text=text, speaker=speaker, role=role, at=start + n * every, id=f"m{n}")


def firsts(recalled):
    """The first message of each piece of evidence, in order."""
    return [evidence.sources[0] for evidence in recalled.evidence]


PEOPLE = [
    "Ada: I bought a red bicycle at the market.",
    "Ben: My garden is full of tomatoes.",
    "Ada: The bicycle has a broken chain.",
    "Ben: I could repair a bicycle chain.",
    "Cleo: Opera tickets are expensive.",
]


@pytest.fixture
async def talk(bank):
    await bank.retain(said(*PEOPLE), session="shop")
    await bank.retain(
        [
            Message(text="The red bicycle is in Paris.", speaker="Ada", at=MAY + timedelta(days=30), id="p0"),
            Message(text="Trains are slow.", speaker="Cleo", at=MAY + timedelta(days=30), id="p1"),
        ],
        session="paris",
    )
    return bank


async def test_an_empty_bank_gives_no_evidence_and_a_complete_receipt(bank):
    recalled = await bank.recall("What did I do last week?")
    assert recalled.evidence == ()
    receipt = recalled.receipt
    assert {report.arm: report.status for report in receipt.arms} == dict.fromkeys(map(str, Arm), ArmStatus.OK)
    assert receipt.complete
    assert (receipt.candidates, receipt.cut_by_limit, receipt.cut_by_budget, receipt.tokens) == (0, 0, 0, 0)


async def test_the_best_comes_first_with_its_reasons(talk):
    recalled = await talk.recall("Where is the red bicycle from the market?")
    best = recalled.evidence[0]
    assert best.sources == ("m0",)
    assert {why.arm for why in best.why} >= {"semantic", "lexical"}
    assert [e.score for e in recalled.evidence] == sorted((e.score for e in recalled.evidence), reverse=True)
    assert len({e.id for e in recalled.evidence}) == len(recalled.evidence)


@pytest.mark.parametrize(
    ("narrowed", "left"),
    [
        ({"sessions": "paris"}, {"p0", "p1"}),
        ({"sessions": ["paris", "shop"]}, {"m0", "m1", "m2", "m3", "m4", "p0", "p1"}),
        ({"sessions": "nowhere"}, set()),
        ({"speakers": "Ada"}, {"m0", "m2", "p0"}),
        ({"speakers": ("Ben", "Cleo"), "sessions": "shop"}, {"m1", "m3", "m4"}),
        ({"kinds": ["turn"]}, {"m0", "m1", "m2", "m3", "m4", "p0", "p1"}),
        ({"kinds": ["fact"]}, set()),
        ({"exclude": ["m0", "turn:0:m2", "unknown"]}, {"m1", "m3", "m4", "p0", "p1"}),
    ],
)
async def test_filters_keep_what_they_say(talk, narrowed, left):
    recalled = await talk.recall("red bicycle", **narrowed)
    assert set(firsts(recalled)) == left
    assert recalled.receipt.candidates == len(left)


async def test_during_keeps_what_was_said_or_tells_of_that_time(bank):
    await bank.retain(said("Ada: It rains.", "Ada: It rained in June 2021."), session="s")
    june = Interval(
        start=datetime(2021, 6, 10, tzinfo=UTC), end=datetime(2021, 6, 20, tzinfo=UTC), precision=Precision.RANGE
    )
    assert firsts(await bank.recall("rain", during=june)) == ["m1"]
    may = Interval(start=MAY, end=MAY + timedelta(seconds=30), precision=Precision.RANGE)
    assert firsts(await bank.recall("rain", during=may)) == ["m0"]
    before = Interval(start=None, end=MAY, precision=Precision.RANGE)
    assert firsts(await bank.recall("rain", during=before)) == ["m1"]


@pytest.mark.parametrize("by", ["item", "message"])
async def test_what_was_seen_is_masked_and_the_next_come(bank, by):
    await bank.retain(said(*(f"Ada: bicycle story {n}" for n in range(12))), session="s")
    everything = firsts(await bank.recall("bicycle", limit=12))
    assert len(everything) == 12
    seen, pages = [], []
    for _ in range(3):
        found = await bank.recall("bicycle", limit=4, exclude=seen)
        assert len(found.evidence) == 4
        pages += firsts(found)
        seen += [e.id if by == "item" else e.sources[0] for e in found.evidence]
    assert sorted(pages) == sorted(everything)
    assert (await bank.recall("bicycle", limit=4, exclude=seen)).evidence == ()


async def test_a_mask_holds_for_every_message_of_a_turn(bank):
    await bank.retain(said("Ada: Is the bicycle red?", "assistant: Yes, the bicycle is red."), session="s")
    assert firsts(await bank.recall("bicycle")) == ["m0"]
    assert (await bank.recall("bicycle", exclude="m1")).evidence == ()


async def test_as_of_answers_with_what_was_recorded_by_then(bank, clock):
    await bank.retain(Message(text="My bicycle is red.", id="old"), session="a")
    clock.now = MAY + timedelta(days=10)
    await bank.retain(Message(text="My bicycle is blue now.", at=MAY - timedelta(days=99), id="new"), session="b")
    assert set(firsts(await bank.recall("bicycle"))) == {"old", "new"}
    for as_of, expected in (
        (MAY - timedelta(seconds=1), []),
        (MAY, ["old"]),
        (MAY + timedelta(days=9), ["old"]),
    ):
        assert firsts(await bank.recall("bicycle", as_of=as_of)) == expected
    zoned = (MAY + timedelta(days=10)).astimezone(datetime.now().astimezone().tzinfo)
    assert set(firsts(await bank.recall("bicycle", as_of=zoned))) == {"old", "new"}


async def test_as_of_knows_a_message_that_was_answered_later(bank, clock):
    await bank.retain([Message(text="My bicycle is red.", id="m"), answered("Oh?", id="a")], session="s")
    clock.now = MAY + timedelta(days=10)
    await bank.retain(answered("How nice, a red bicycle.", id="b"), session="s")
    (now,) = (await bank.recall("bicycle")).evidence
    assert now.sources == ("m", "a", "b")
    early = await bank.recall("bicycle", as_of=MAY + timedelta(days=1))
    (then,) = early.evidence
    assert (then.text, then.sources) == ("My bicycle is red.\nassistant: Oh?", ("m", "a"))
    assert then.tokens == count_tokens(then.text) == early.receipt.tokens < now.tokens
    assert (await bank.recall("bicycle", as_of=clock.now)).evidence[0].sources == ("m", "a", "b")
    assert (await bank.recall("bicycle", as_of=MAY - timedelta(days=1))).evidence == ()


async def test_as_of_says_the_same_after_an_export(bank, clock):
    await bank.retain(Message(text="My bicycle is red.", id="m"), session="s")
    clock.now = MAY + timedelta(days=10)
    await bank.retain(answered("How nice.", id="a"), session="s")
    async with Memory.open(":memory:", embedder=HashEmbedder(), clock=clock) as other:
        copy = await other.bank("copy")
        await copy.import_([line async for line in bank.export()])
        for as_of in (MAY, clock.now, None):
            mine, theirs = [(await one.recall("bicycle", as_of=as_of)).evidence for one in (bank, copy)]
            assert mine == theirs


def answered(text, **more):
    return Message(text=text, role=Role.ASSISTANT, speaker="assistant", **more)


NAIVE = datetime(2024, 5, 1)  # noqa: DTZ001


@pytest.mark.parametrize("when", ["now", "as_of"])
async def test_naive_times_are_refused_by_name(bank, when):
    with pytest.raises(NaiveDatetime, match=when):
        await bank.recall("x", **{when: NAIVE})


@pytest.mark.parametrize("name", ["limit", "max_tokens"])
@pytest.mark.parametrize("value", [0, -1])
async def test_bounds_are_positive(bank, name, value):
    with pytest.raises(InvalidInput, match=f"{name} is {value}"):
        await bank.recall("x", **{name: value})


async def test_an_unknown_effort_is_refused_with_those_there_are(bank):
    with pytest.raises(InvalidInput, match=r"'huge'.*low, mid, high"):
        await bank.recall("x", effort="huge")


@pytest.mark.parametrize("effort", ["low", "mid", "high"])
async def test_every_effort_finds_the_obvious(talk, effort):
    assert firsts(await talk.recall("opera tickets", effort=effort))[0] == "m4"


async def test_limit_and_budget_cut_and_say_so(talk):
    two = await talk.recall("bicycle", limit=2)
    assert len(two.evidence) == 2
    assert two.receipt.cut_by_limit == two.receipt.candidates - 2
    budget = two.evidence[0].tokens
    one = await talk.recall("bicycle", limit=2, max_tokens=budget)
    assert (len(one.evidence), one.receipt.tokens, one.receipt.cut_by_budget) == (1, budget, 1)
    none = await talk.recall("bicycle", limit=2, max_tokens=1)
    assert (none.evidence, none.receipt.cut_by_budget) == ((), 2)


async def test_two_people_and_an_assistant(bank):
    lines = [
        "Ada: Which opera shall we see?",
        "assistant: Tosca plays tonight.",
        "Ben: I prefer football.",
        "Ada: Fine.",
    ]
    await bank.retain(said(*lines), session="s")
    recalled = await bank.recall("Tosca tonight")
    assert recalled.evidence[0].sources == ("m0", "m1")
    assert recalled.evidence[0].text == "Which opera shall we see?\nassistant: Tosca plays tonight."
    assert recalled.evidence[0].speaker == "Ada"
    assert firsts(await bank.recall("What does Ben prefer?"))[0] == "m2"
    assert firsts(await bank.recall("football", speakers="Ben")) == ["m2"]


async def test_who_the_question_names_is_preferred(bank):
    lines = ["Ada: I love the sea.", "Ben: I love the sea.", "Cleo: Weather is bad."]
    await bank.retain(said(*lines), session="s")
    assert firsts(await bank.recall("What does Ada love about the sea?"))[0] == "m0"
    assert firsts(await bank.recall("What does Ben love about the sea?"))[0] == "m1"
    assert firsts(await bank.recall("what does BEN's heart love, the sea?"))[0] == "m1"


FILLER = ["Ada: Weather is bad today again.", "Ben: Taxes are due soon anyway.", "Ada: Coffee tastes great here."]


async def test_a_reply_is_found_by_the_words_before_it(bank):
    lines = [*FILLER, "Ada: Did you buy the bicycle with the basket?", "Ben: Yes, the blue one!", *FILLER]
    await bank.retain(said(*lines), session="s")
    await bank.retain(
        [Message(text=text, speaker="Cleo", id=f"x{n}") for n, text in enumerate(["Hello.", "Sure, the green one!"])],
        session="t",
    )
    order = firsts(await bank.recall("Did Ben buy the bicycle with the basket?", limit=2))
    assert set(order) == {"m3", "m4"}
    every = firsts(await bank.recall("Did Ben buy the bicycle with the basket?"))
    assert every.index("m4") < every.index("x1")


async def test_a_question_is_not_preferred_over_its_answer(bank):
    lines = [*FILLER, "Ada: Who repaired the bicycle chain?", "Ben: Cleo repaired the bicycle chain.", *FILLER]
    await bank.retain(said(*lines), session="s")
    assert firsts(await bank.recall("Who repaired the bicycle chain?"))[0] == "m4"


async def test_a_when_question_prefers_what_is_dated(bank):
    await bank.retain(said("Ada: We married in Rome, an old church, candles burning, rain outside."), session="a")
    await bank.retain([Message(text="We married in Rome on 7 May 2019.", speaker="Ada", id="dated")], session="b")
    await bank.retain(
        [Message(text="We married in Rome, bells ringing, friends singing, wine flowing.", speaker="Ada", id="other")],
        session="c",
    )
    assert firsts(await bank.recall("When did we marry in Rome?"))[0] == "dated"
    found = (await bank.recall("When did we marry in Rome?")).evidence[0]
    assert found.occurred == Interval(
        start=datetime(2019, 5, 7, tzinfo=UTC), end=datetime(2019, 5, 8, tzinfo=UTC), precision=Precision.DAY
    )


async def test_a_time_in_the_question_prefers_that_time(bank):
    for month in (1, 2, 3, 4):
        at = datetime(2024, month, 15, tzinfo=UTC)
        await bank.retain(Message(text="We went to the cinema.", at=at, id=f"m{month}"), session=str(month))
    recalled = await bank.recall("What did we see in the cinema in February 2024?")
    assert firsts(recalled)[0] == "m2"
    assert "temporal" in {why.arm for why in recalled.evidence[0].why}
    last = await bank.recall("Were we in the cinema last month?", now=datetime(2024, 5, 2, tzinfo=UTC))
    assert firsts(last)[0] == "m4"


async def test_the_date_that_relative_words_mean_is_searched(bank):
    await bank.retain(
        [Message(text="I ran a marathon yesterday.", at=datetime(2023, 8, 20, tzinfo=UTC), id="ran")], session="s"
    )
    await bank.retain([Message(text="I ran home.", id="home")], session="t")
    only_words = Recipe(name="words", recall=RecallSettings(arms=(Arm.LEXICAL,)))
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=only_words) as memory:
        words = await memory.bank("words")
        await words.import_([line async for line in bank.export()])
        assert firsts(await words.recall("19 August 2023")) == ["ran"]


async def test_a_quoted_phrase_is_found_word_for_word(bank):
    texts = ["the one blue bicycle", "a blue one the bicycle", "Take The Blue One, quickly!", "blue, the one"]
    await bank.retain([Message(text=text, id=f"m{n}") for n, text in enumerate(texts)], session="s")
    assert firsts(await bank.recall('Who said "the blue one"?'))[0] == "m2"
    assert firsts(await bank.recall("Who said “the one blue”?"))[0] == "m0"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Где живёт Ольга?", "ru"),
        ("寿司を食べた？", "ja"),
        ("他在北京工作吗", "zh"),
        ("resume of Jose at the cafe", "es"),
        ("RÉSUMÉ de José au CAFÉ", "es"),
        ("서울에서 만났다", "ko"),
    ],
)
async def test_other_scripts_and_accents_are_found(bank, question, first):
    texts = {
        "ru": "Ольга живёт в Москве.",
        "ja": "昨日、東京で寿司を食べた。",
        "zh": "他在北京工作。",
        "es": "José left his résumé at the café.",
        "ko": "우리는 서울에서 만났다",
        "en": "Nothing to see here.",
    }
    for id_, text in texts.items():
        await bank.retain(Message(text=text, id=id_), session=id_)
    by_words = RecallSettings(arms=(Arm.LEXICAL,), weights=Weights())
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=Recipe(name="w", recall=by_words)) as memory:
        words = await memory.bank("words")
        await words.import_([line async for line in bank.export()])
        assert firsts(await words.recall(question))[0] == first


@pytest.mark.parametrize("fusion", list(Fusion))
async def test_every_fusion_and_a_reranker_go_end_to_end(fusion):
    recipe = Recipe(name="x", recall=RecallSettings(fusion=fusion))
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=recipe, reranker=OverlapReranker()) as memory:
        bank = await memory.bank("ada")
        await bank.retain(said(*PEOPLE), session="shop")
        recalled = await bank.recall("repair a bicycle chain")
        assert firsts(recalled)[0] == "m3"
        assert (recalled.receipt.fusion, recalled.receipt.reranker) == (fusion.value, "overlap")


async def test_scores_of_a_bank_do_not_depend_on_the_limit(talk):
    many, few = await talk.recall("bicycle chain"), await talk.recall("bicycle chain", limit=2)
    assert [(e.id, e.score) for e in few.evidence] == [(e.id, e.score) for e in many.evidence[:2]]


async def test_a_recall_changes_nothing(talk):
    before = [line async for line in talk.export()]
    await talk.recall("bicycle", effort="high")
    assert [line async for line in talk.export()] == before


async def test_a_limit_is_met_where_there_is_enough(bank):
    await bank.retain([Message(text="bicycle", id=f"m{n}") for n in range(250)], session="s")
    assert len((await bank.recall("bicycle", limit=240, max_tokens=None)).evidence) == 240


async def test_the_graph_alone_enters_by_meaning():
    """Which arms run must not change what is nearest in meaning."""
    entries = {}
    for arms in ((Arm.GRAPH,), (Arm.SEMANTIC, Arm.GRAPH)):
        recipe = Recipe(name="x", recall=RecallSettings(arms=arms))
        async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=recipe, clock=lambda: MAY) as memory:
            bank = await memory.bank("ada")
            await bank.retain(said(*FILLER, *PEOPLE, *FILLER), session="shop")
            recalled = await bank.recall("red bicycle")
            why = {e.id: why for e in recalled.evidence for why in e.why if why.arm == "graph"}
            entries[arms] = {id_: round(w.score, 5) for id_, w in why.items()}
    alone, beside = entries.values()
    assert alone == beside
