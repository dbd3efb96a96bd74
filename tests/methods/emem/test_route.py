"""Routing over a real bank: three pathways at once, and what each receipt tells (section 3.3)."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from segment_bank import AT, EMBEDDER, opened, query

from recollect.domain.items import ItemKind
from recollect.domain.recalls import ArmStatus
from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput, ModelUnavailable, RecallFailed
from recollect.methods.emem import segment_lookup
from recollect.methods.emem.evidence import EXCERPT
from recollect.methods.emem.router import NO_SEGMENTS, Router
from recollect.methods.emem.settings import Pathway, RouteSettings
from recollect.recall.settings import RecallSettings
from recollect.retain.segments import cut_words, read_segment, render_line
from recollect.text.tokens import count_tokens

TALK = (
    "My kite is stuck in the old oak tree behind the school.",
    "Then ask the gardener, he has a very long ladder there.",
    "We baked walnut bread this morning and burned the crust.",
    "Next time put the bread on the lower rack of the oven.",
    "The violin lesson was moved to Thursday afternoon again.",
    "I practised the slow movement until the neighbours knocked.",
    "Grandfather repaired the blue canoe with tar and patience.",
    "It floats now, and the lake is warm enough for swimming.",
)


def reports(recalled):
    return {report.arm: report for report in recalled.receipt.arms}


async def route(bank, text, *, routing=None, **more):
    return await bank.parts(routing=routing).retriever.route(query(text, **more), bank.store)


async def retrieve(bank, text, *, routing=None, **more):
    return await bank.parts(routing=routing).retriever.retrieve(query(text, **more), bank.store)


async def test_a_segment_is_found_by_all_three_pathways():
    async with opened() as bank:
        await bank.say(*TALK)
        found = await route(bank, "Where is the kite stuck?")
    best = found.activated[0]
    assert best.number == 0
    assert {why.arm for why in best.why} == {"summary", "vector", "keyword"}
    assert {why.rank for why in best.why} == {1}
    assert best.hits[0].messages == ("m0",)
    assert [arm.arm for arm in found.receipt.arms] == ["summary", "vector", "keyword"]
    assert found.receipt.complete
    assert 0 < best.strength <= 1


async def test_the_open_segment_takes_part_without_a_summary():
    async with opened(length=200, overlap=10) as bank:
        await bank.say(*TALK)
        last = (await bank.store.segments())[-1]
        found = await route(bank, "Who repaired the canoe?")
    assert not last.is_sealed
    assert found.activated[0].number == last.number
    assert {why.arm for why in found.activated[0].why} == {"vector", "keyword"}


@pytest.mark.parametrize(("tau", "limit", "kept"), [(2, 20, 2), (8, 1, 1), (3, 2, 2)])
async def test_at_most_tau_segments_and_at_most_the_limit(tau, limit, kept):
    async with opened(length=40, overlap=5) as bank:
        await bank.say(*TALK)
        found = await route(
            bank,
            "What about the bread and the canoe?",
            routing=partial(Router, settings=RouteSettings(tau=tau)),
            limit=limit,
        )
    assert len(found.activated) == kept
    assert found.receipt.cut_by_limit == found.receipt.candidates - kept > 0


async def test_segments_come_whole_while_they_fit():
    async with opened() as bank:
        await bank.say(*TALK)
        found = await retrieve(bank, "Where is the kite stuck?", max_tokens=None)
        texts = {one.id: (await read_segment(bank.store, int(one.id[8:]))).text for one in found.evidence}
    assert {one.kind for one in found.evidence} == {ItemKind.SEGMENT}
    assert [one.text for one in found.evidence] == list(texts.values())
    assert found.evidence[0].sources[0] == "m0"
    assert found.evidence[0].mentioned == AT
    assert found.receipt.cut_by_budget == 0
    assert found.receipt.tokens == sum(one.tokens for one in found.evidence)


async def test_one_that_does_not_fit_comes_as_an_excerpt_of_what_was_found():
    async with opened() as bank:
        await bank.say(*TALK)
        whole = await retrieve(bank, "Where is the kite stuck?", max_tokens=None)
        found = await retrieve(bank, "Where is the kite stuck?", max_tokens=40)
    assert whole.evidence[0].tokens > 40
    (excerpt,) = found.evidence
    assert (excerpt.id, excerpt.label) == ("segment:0", EXCERPT)
    assert excerpt.text == f"[Wed 2024-05-01 09:30] Ada: {TALK[0]}\n"
    assert excerpt.sources == ("m0",)
    assert found.receipt.cut_by_budget == len(whole.evidence)
    assert found.receipt.tokens == excerpt.tokens <= 40


async def test_an_excerpt_is_in_the_order_of_time():
    async with opened(length=150, overlap=10) as bank:
        await bank.say(*TALK)
        found = await retrieve(bank, "What did grandfather do to the canoe, and where is the kite?", max_tokens=80)
    lines = [line for one in found.evidence for line in one.text.splitlines()]
    assert 2 <= len(lines) <= 3
    assert lines == sorted(lines)


async def test_the_first_that_fits_is_whole_and_the_rest_is_shared():
    async with opened() as bank:
        await bank.say(*TALK)
        whole = await retrieve(bank, "Where is the kite stuck?", max_tokens=None)
        room = whole.evidence[0].tokens + 45
        found = await retrieve(bank, "Where is the kite stuck?", max_tokens=room)
    assert [one.label for one in found.evidence] == ["", EXCERPT]
    assert found.evidence[0] == whole.evidence[0]
    assert found.receipt.cut_by_budget == len(whole.evidence) - 1


async def test_a_bank_without_segments_gives_single_items_and_says_so():
    async with opened(segments=False) as bank:
        await bank.say(*TALK)
        found = await retrieve(bank, "Where is the kite stuck?")
    assert found.evidence[0].kind is ItemKind.TURN
    assert NO_SEGMENTS in found.receipt.notes


async def test_other_kinds_are_the_plain_retrievers():
    async with opened() as bank:
        await bank.say(*TALK)
        turns = await retrieve(bank, "Where is the kite stuck?", kinds=(ItemKind.TURN,))
        segments = await retrieve(bank, "Where is the kite stuck?", kinds=(ItemKind.SEGMENT,))
    assert {one.kind for one in turns.evidence} == {ItemKind.TURN}
    assert NO_SEGMENTS not in turns.receipt.notes
    assert {one.kind for one in segments.evidence} == {ItemKind.SEGMENT}


async def test_what_is_in_no_segment_yet_is_told():
    async with opened() as bank:
        await bank.say(*TALK)
        async with opened(segments=False) as other:
            other.store, other.said_so_far = bank.store, bank.said_so_far
            await other.say("The lighthouse keeper waved at the ferry.")
        found = await route(bank, "Who waved at the ferry from the lighthouse?")
    assert found.receipt.notes == ("1 of the turns that were found stand in no segment yet",)


async def test_only_the_sessions_asked_for_are_seen():
    async with opened(length=200) as bank:
        await bank.say(*TALK[:4], session="one")
        await bank.say(*TALK[4:], session="two")
        found = await retrieve(
            bank, "What about the bread, the kite and the canoe?", sessions=("one",), max_tokens=None
        )
    text = "".join(one.text for one in found.evidence)
    assert TALK[2] in text
    assert not any(words in text for words in TALK[4:])
    assert reports(found)["summary"].status is ArmStatus.IDLE


async def test_only_the_speakers_asked_for_are_seen():
    async with opened(length=200) as bank:
        await bank.say(*TALK[:4], speaker="Ada")
        await bank.say(*TALK[4:], speaker="Bob")
        found = await retrieve(bank, "What about the canoe and the bread?", speakers=("Bob",), max_tokens=None)
    assert {one.speaker for one in found.evidence} == {"Bob"}
    assert not any(words in one.text for one in found.evidence for words in TALK[:4])


async def test_only_what_was_said_in_a_time_or_speaks_of_it_is_seen():
    async with opened(length=500) as bank:
        for day, text in enumerate((*TALK[:4], "The fair was on 2 May 2024.")):
            await bank.say(text, at=AT + timedelta(days=day))
        during = Interval(start=AT + timedelta(days=0.5), end=AT + timedelta(days=2.5), precision=Precision.RANGE)
        found = await retrieve(bank, "What about the kite, the bread and the fair?", during=during, max_tokens=None)
    (segment,) = found.evidence
    said = [line.partition(": ")[2] for line in segment.text.splitlines()]
    assert said == [*TALK[1:3], "The fair was on 2 May 2024."]
    assert reports(found)["summary"].status is ArmStatus.IDLE


HIDING = {"as of": {"as_of": AT + timedelta(minutes=2, seconds=30)}, "exclude": {"exclude": frozenset({"m3"})}}


@pytest.mark.parametrize("how", HIDING)
async def test_that_a_summary_is_hidden_is_no_sign_against_its_segment(how):
    """Of two segments that were said in the same words, the one whose summary may not speak is not set back."""
    async with opened(length=2 * count_tokens(f"[Wed 2024-05-01 09:30] Ada: {TALK[0]}\n"), overlap=0) as bank:
        for text in (TALK[0], TALK[0], TALK[0], TALK[0], TALK[1]):
            await bank.say(text)
        first, second, _ = await bank.store.segments()
        found = await route(bank, TALK[0], **HIDING[how])
    assert (first.last, second.first, second.last) == ("m1", "m2", "m3")
    activated = {one.number: one for one in found.activated}
    assert {why.arm for why in activated[0].why} == {"summary", "vector", "keyword"}
    assert {why.arm for why in activated[1].why} == {"vector", "keyword"}
    assert activated[1].strength == pytest.approx(activated[0].strength, rel=0.1)


async def test_as_of_reads_what_was_recorded_by_then():
    async with opened(length=200) as bank:
        await bank.say(*TALK[:4])
        await bank.say(*TALK[4:])
        before = AT + timedelta(minutes=4)
        found = await retrieve(bank, "What about the canoe and the bread?", as_of=before, max_tokens=None)
    text = "".join(one.text for one in found.evidence)
    assert TALK[3] in text
    assert not any(words in text for words in TALK[4:])


async def test_what_was_seen_does_not_come_back():
    async with opened() as bank:
        await bank.say(*TALK)
        first = await retrieve(bank, "Where is the kite stuck?", max_tokens=None)
        again = await retrieve(
            bank, "Where is the kite stuck?", exclude=frozenset({first.evidence[0].id, "m4"}), max_tokens=None
        )
    assert first.evidence[0].id not in {one.id for one in again.evidence}
    assert not any(TALK[4] in one.text for one in again.evidence)


class Deaf:
    """An embedder that is out of reach."""

    name, dimension = EMBEDDER.name, EMBEDDER.dimension

    async def embed(self, texts, *, purpose="document"):
        raise ModelUnavailable("nobody listens")


async def test_without_the_embedder_words_still_lead_to_segments():
    async with opened() as bank:
        await bank.say(*TALK)
        router = bank.parts(embedder=Deaf()).retriever
        found = await router.retrieve(query("Where is the kite stuck?"), bank.store)
    assert found.evidence[0].id == "segment:0"
    assert reports(found)["keyword"].status is ArmStatus.OK
    assert reports(found)["vector"].status is ArmStatus.FAILED
    assert "nobody listens" in reports(found)["vector"].note
    assert not found.receipt.complete


class Broken:
    """A store whose searches break in one arm, or hang."""

    def __init__(self, store, arm, problem):
        self._store, self._arm, self._problem = store, arm, problem

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def search(self, probe, scope, weights, tiers=()):
        return _BrokenSearch(await self._store.search(probe, scope, weights, tiers), self._arm, self._problem)


class _BrokenSearch:
    def __init__(self, search, arm, problem):
        self._search, self._arm, self._problem = search, arm, problem

    def __getattr__(self, name):
        return getattr(self._search, name) if name != self._arm else self._break

    async def _break(self, k):
        await self._problem()


async def failing():
    raise OSError("the disk is gone")


async def hanging():
    await asyncio.sleep(60)


@pytest.mark.parametrize(("arm", "down"), [("semantic", {"summary", "vector"}), ("lexical", {"summary", "keyword"})])
async def test_a_pathway_that_is_down_is_told_and_fails_no_other(arm, down):
    async with opened() as bank:
        await bank.say(*TALK)
        router = bank.parts().retriever
        found = await router.retrieve(query("Where is the kite stuck?"), Broken(bank.store, arm, failing))
    assert {name for name, report in reports(found).items() if report.status is ArmStatus.FAILED} == down
    assert all("OSError: the disk is gone" in reports(found)[name].note for name in down)
    assert found.evidence[0].id == "segment:0"


async def test_a_pathway_that_hangs_ends_at_its_deadline():
    async with opened() as bank:
        await bank.say(*TALK)
        settings = RouteSettings(recall=replace(RecallSettings(), deadline_s=0.05))
        router = bank.parts(routing=partial(Router, settings=settings)).retriever
        found = await router.retrieve(query("Where is the kite stuck?"), Broken(bank.store, "semantic", hanging))
    assert reports(found)["vector"].status is ArmStatus.TIMEOUT
    assert found.evidence


async def test_when_no_pathway_can_look_that_is_an_error():
    async with opened() as bank:
        await bank.say(*TALK)
        routing = partial(Router, settings=RouteSettings(pathways=(Pathway.VECTOR,)))
        router = bank.parts(routing=routing).retriever
        with pytest.raises(RecallFailed, match="vector: OSError: the disk is gone"):
            await router.retrieve(query("Where is the kite stuck?"), Broken(bank.store, "semantic", failing))


@pytest.mark.parametrize("settings", [{"tau": 0}, {"pathways": ()}])
def test_settings_that_could_activate_nothing_are_refused(settings):
    with pytest.raises(InvalidInput):
        RouteSettings(**settings)


async def test_an_empty_bank_has_nothing_and_no_error():
    async with opened() as bank:
        found = await retrieve(bank, "Where is the kite stuck?")
    assert found.evidence == ()


async def test_a_turn_at_an_edge_stands_where_it_is_whole():
    async with opened(length=70, overlap=32) as bank:
        await bank.say(*TALK)
        segments = await bank.store.segments()
        cut = {(s.last, s.number) for s in segments if s.end is not None} | {
            (s.first, s.number) for s in segments if s.start
        }
        for text, words in zip(TALK, (f"m{n}" for n in range(len(TALK))), strict=True):
            found = await route(bank, text)
            (home,) = (one.number for one in found.activated if any(words in hit.messages for hit in one.hits))
            assert (words, home) not in cut or len(await _holders(bank, words)) == 1
    assert cut


async def _holders(bank, id_):
    return (await bank.store.segments_of([id_]))[id_]


FILLER = " ".join(f"Line {n} tells of harvests, harbours and weather in the north." for n in range(160))
PASSWORD = "The password of the lighthouse is marmalade."


@pytest.mark.parametrize("length", [600, 8192])
@pytest.mark.parametrize("text", [f"{FILLER}\n\n{PASSWORD}", f"{PASSWORD}\n\n{FILLER}"], ids=["last", "first"])
async def test_of_a_message_too_long_for_the_budget_the_words_that_were_found_are_shown(text, length):
    async with opened(length=length, overlap=20) as bank:
        await bank.say(text)
        (message,) = await bank.store.messages()
        found = await retrieve(bank, "What is the password of the lighthouse?", max_tokens=2000)
    assert (
        count_tokens(render_line(message)) > 2000 >= found.receipt.tokens == sum(one.tokens for one in found.evidence)
    )
    best = next(one for one in found.evidence if PASSWORD in one.text)
    assert best.text.startswith("[Wed 2024-05-01 09:30] Ada: ")
    assert best.sources == ("m0",)
    assert {one.label for one in found.evidence} <= {"", EXCERPT}


async def test_a_long_message_is_cut_once_however_many_of_its_passages_are_found(monkeypatch):
    cuts = []
    monkeypatch.setattr(segment_lookup, "cut_words", lambda *given: cuts.append(given) or cut_words(*given))
    async with opened(length=600, overlap=20) as bank:
        await bank.say("\n\n".join([FILLER] * 4))
        found = await route(bank, "What do the lines tell of harvests?", limit=20)
        holders = len((await bank.store.segments_of(["m0"]))["m0"])
    assert sum(len(one.hits) for one in found.activated) > 4
    assert len(cuts) == holders


async def test_a_passage_of_a_long_message_stands_where_its_words_do():
    async with opened(length=600, overlap=20) as bank:
        await bank.say(f"{FILLER}\n\n{PASSWORD}")
        found = await route(bank, "What is the password of the lighthouse?")
        texts = {one.number: (await read_segment(bank.store, one.number)).text for one in found.activated}
    assert len(texts) > 1
    assert "marmalade" in texts[found.activated[0].number]
