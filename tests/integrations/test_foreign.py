"""Over any memory: what was seen never comes back, k unseen come while there are any, and the receipt is true."""

import asyncio
import itertools
import threading
from dataclasses import replace
from datetime import datetime

import pytest
from foreign_memories import AT, NOW, TEXTS, all_of, found, gap, known, query, retrieve, said, settle, texts_of
from foreign_memories import concluded as concluded_
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.items import ItemKind
from recollect.domain.queries import Scope
from recollect.domain.recalls import ArmRank, ArmStatus
from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput, NaiveDatetime, NoModel, RecallFailed
from recollect.integrations import CallableRetriever, ForeignPiece, ForeignRetriever, MetadataFields, answer_over
from recollect.integrations.answering import NO_BANK
from recollect.integrations.foreign_memory import MAX_REQUESTED
from recollect.integrations.metadata_fields import make_text_id, parse_moment, read_piece
from recollect.methods.memr3.settings import LoopSettings
from recollect.recall.pipeline import TemprRetriever
from recollect.testing.models import HashEmbedder, ScriptedModel

MAY = Interval(start=AT, end=NOW, precision=Precision.RANGE)


class Shelf:
    """A backend over pieces in their order; ``cap`` is the most that it brings at once."""

    def __init__(self, pieces, *, masks=False, cap=MAX_REQUESTED, name="shelf"):
        self._pieces, self.masks, self._cap, self.name = pieces, masks, cap, name
        self.asked = []

    async def search(self, text, count, exclude):
        self.asked.append(count)
        hidden = exclude if self.masks else frozenset()
        return [one for one in self._pieces if one.id not in hidden][: min(count, self._cap)]


def pieces(*ids):
    return [ForeignPiece(id=id_, text=f"text of {id_}", at=AT) for id_ in ids]


async def test_a_piece_as_evidence():
    piece = ForeignPiece(
        id="a", text="Toby came.", at=AT, occurred=MAY, speaker="Ada", session="s1", sources=("m1", "m2"), score=0.5
    )
    (evidence,) = (await found(ForeignRetriever(Shelf([piece])))).evidence
    assert (evidence.id, evidence.text, evidence.kind) == ("a", "Toby came.", ItemKind.TURN)
    assert (evidence.session, evidence.speaker, evidence.sources) == ("s1", "Ada", ("m1", "m2"))
    assert (evidence.mentioned, evidence.occurred) == (AT, MAY)
    assert evidence.why == (ArmRank(arm="shelf", rank=1, score=0.5),)
    assert evidence.tokens > 1


async def test_the_receipt_counts_what_was_found_and_cut():
    recall = await found(ForeignRetriever(Shelf(pieces("a", "b", "b", "c", "d"))), limit=3, exclude=["a"])
    receipt = recall.receipt
    assert [one.id for one in recall.evidence] == ["b", "c", "d"]
    assert [(arm.arm, arm.status, arm.note) for arm in receipt.arms] == [("shelf", ArmStatus.OK, "")]
    assert (receipt.candidates, receipt.cut_by_limit, receipt.cut_by_budget) == (3, 0, 0)
    assert receipt.tokens == sum(one.tokens for one in recall.evidence)
    assert receipt.complete
    assert receipt.notes == ()
    assert receipt.seconds > 0


async def test_tokens_are_kept_to():
    whole = await found(ForeignRetriever(Shelf(pieces("a", "b", "c"))))
    room = whole.evidence[0].tokens * 2
    recall = await found(ForeignRetriever(Shelf(pieces("a", "b", "c"))), max_tokens=room)
    assert [one.id for one in recall.evidence] == ["a", "b"]
    assert recall.receipt.cut_by_budget == 1


IDS = st.lists(st.sampled_from("abcdefghij"), max_size=24)


@given(
    ids=IDS,
    seen=st.sets(st.sampled_from("abcdefghij")),
    k=st.integers(1, 6),
    masks=st.booleans(),
    cap=st.integers(1, 9),
)
def test_k_unseen_come_as_long_as_the_backend_gives_them_and_never_one_twice(ids, seen, k, masks, cap):
    """A backend that brings the same piece again and again, as one of chunks does, is asked for more."""
    shelf = Shelf(pieces(*ids), masks=masks, cap=cap)
    recall = asyncio.run(found(ForeignRetriever(shelf), limit=k, exclude=seen, max_tokens=None))
    brought = [one.id for one in recall.evidence]
    hidden = seen if masks else set()
    within = dict.fromkeys(id_ for id_ in [one for one in ids if one not in hidden][:cap])
    assert brought == [id_ for id_ in within if id_ not in seen][:k]
    assert max(shelf.asked) <= MAX_REQUESTED


async def test_more_is_asked_for_only_where_it_is_needed():
    shelf = Shelf(pieces("a", "b", "c", "d"), masks=False)
    await found(ForeignRetriever(shelf), limit=2)
    await found(ForeignRetriever(shelf), limit=2, exclude=["a", "b"])
    assert shelf.asked == [2, 4]
    masking = Shelf(pieces("a", "b", "c", "d"), masks=True)
    await found(ForeignRetriever(masking), limit=2, exclude=["a", "b"])
    assert masking.asked == [2]


async def test_a_backend_that_never_ends_is_left_alone_in_the_end():
    class Endless:
        name, masks = "endless", False

        async def search(self, text, count, exclude):
            return pieces("a") * count

    recall = await found(ForeignRetriever(Endless()), limit=2)
    assert [one.id for one in recall.evidence] == ["a"]
    assert recall.receipt.notes == (f"endless was asked for {MAX_REQUESTED} pieces at once, and for no more: most of "
                                    "them were seen already",)  # fmt: skip


async def test_a_message_can_be_left_out_whatever_holds_it():
    held = [
        ForeignPiece(id="a", text="x", at=AT, sources=("m1",)),
        ForeignPiece(id="b", text="y", at=AT, sources=("m2", "m3")),
    ]
    recall = await found(ForeignRetriever(Shelf(held)), exclude=["m3"])
    assert [one.id for one in recall.evidence] == ["a"]


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (Scope(kinds=(ItemKind.FACT,)), "kinds"),
        (Scope(sessions=("s",), speakers=("Ada",)), "sessions, speakers"),
        (Scope(during=MAY), "a time"),
        (Scope(as_of=NOW), "what was recorded by then"),
    ],
)
async def test_what_cannot_be_kept_to_is_said(scope, words):
    recall = await ForeignRetriever(Shelf(pieces("a"))).retrieve(replace(query(), scope=scope), NO_BANK)
    assert recall.receipt.notes == (f"shelf cannot be narrowed to {words}: what it brought is from all it holds",)


async def test_what_is_not_dated_has_no_time_and_that_is_said():
    recall = await found(ForeignRetriever(Shelf([*pieces("a"), ForeignPiece(id="b", text="y")])))
    assert [one.mentioned for one in recall.evidence] == [AT, None]
    assert recall.receipt.notes == ("shelf does not tell when 1 of 2 pieces were said: they are shown without a time",)


class Breaking(Shelf):
    """Breaks, or hangs, when it is asked for more than so many."""

    def __init__(self, pieces, most, hang=False):
        super().__init__(pieces)
        self._most, self._hang = most, hang

    async def search(self, text, count, exclude):
        if count > self._most:
            if self._hang:
                await asyncio.Event().wait()
            raise ConnectionError("gone")
        return await super().search(text, count, exclude)


async def test_a_backend_that_fails_is_no_empty_answer():
    with pytest.raises(RecallFailed, match="shelf: ConnectionError: gone"):
        await found(ForeignRetriever(Breaking(pieces("a"), 0)))
    with pytest.raises(RecallFailed, match=r"shelf: no answer within 0\.05 s"):
        await found(ForeignRetriever(Breaking(pieces("a"), 0, hang=True), deadline_s=0.05))


@pytest.mark.parametrize(
    ("hang", "status", "note"),
    [(False, ArmStatus.FAILED, "ConnectionError: gone"), (True, ArmStatus.TIMEOUT, "no answer within 0.05 s")],
)
async def test_what_was_there_before_it_failed_is_given_and_the_failure_told(hang, status, note):
    breaking = Breaking(pieces("a", "a", "b", "c"), 2, hang)
    recall = await found(ForeignRetriever(breaking, deadline_s=0.05), limit=2)
    assert [one.id for one in recall.evidence] == ["a"]
    assert [(arm.status, arm.note) for arm in recall.receipt.arms] == [(status, note)]
    assert not recall.receipt.complete


# --- plain functions


def plain(text, count, exclude):
    return [(f"m{at}", one, said(at), "Ada") for at, one in enumerate(TEXTS) if f"m{at}" not in exclude][:count]


async def aplain(text, count, exclude):
    return plain(text, count, exclude)


class Finding:
    """An object that is called, and ignores what it is told to leave out."""

    def __call__(self, text, count, exclude):
        return plain(text, count, ())


@pytest.mark.parametrize("find", [plain, aplain, Finding()])
@pytest.mark.parametrize("k", [1, 3, 50])
async def test_over_a_function_everything_comes_once_k_at_a_time(find, k):
    rounds = await all_of(CallableRetriever(find), k)
    assert [one for brought in rounds for one in brought] == list(TEXTS)
    assert all(len(brought) == k for brought in rounds[:-1])


async def test_one_that_yields_its_pieces_runs_in_a_thread_and_may_never_end():
    threads = set()

    def endless(text, count, exclude):
        for number in itertools.count():
            threads.add(threading.current_thread())
            yield f"piece {number}"

    recall = await found(CallableRetriever(endless), limit=3)
    assert texts_of(recall) == ["piece 0", "piece 1", "piece 2"]
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("as_it_is", [True, False])
async def test_one_text_is_not_taken_for_its_characters(as_it_is):
    async def later(text, count, exclude):
        return "abc"

    with pytest.raises(RecallFailed, match="'abc' is one text; give a list of pieces"):
        await found(CallableRetriever(later if as_it_is else lambda text, count, exclude: "abc"))


async def test_what_a_function_may_give():
    given = [
        "bare",
        ("i", "paired"),
        ("j", "dated", AT),
        ("k", "undated", None, "Bram"),
        ForeignPiece(id="l", text="whole"),
    ]
    recall = await found(CallableRetriever(lambda text, count, exclude: given, name="mine"))
    assert [(one.id, one.text, one.mentioned, one.speaker) for one in recall.evidence] == [
        (make_text_id("bare"), "bare", None, ""),
        ("i", "paired", None, ""),
        ("j", "dated", AT, ""),
        ("k", "undated", None, "Bram"),
        ("l", "whole", None, ""),
    ]
    assert {why.arm for one in recall.evidence for why in one.why} == {"mine"}


@pytest.mark.parametrize(
    ("piece", "error"),
    [
        (("i", "x", datetime(2024, 5, 8)), NaiveDatetime),  # noqa: DTZ001
        (("i", "x", "yesterday"), InvalidInput),
        (("i",), InvalidInput),
        (("i", 7), InvalidInput),
        (7, InvalidInput),
        (("i", "x", AT, "Ada", "more"), InvalidInput),
    ],
)
async def test_what_is_no_piece_is_refused(piece, error):
    with pytest.raises(RecallFailed, match=error.__name__):
        await found(CallableRetriever(lambda text, count, exclude: [piece]))


# --- what metadata tells


def test_metadata_tell_when_who_and_where():
    fields = MetadataFields(id="message", at="when", speaker="who", session="chat", sources="from")
    metadata = {"message": 7, "when": "2024-05-08T14:10:00+00:00", "who": "Ada", "chat": "s", "from": ["m1", 2]}
    piece = read_piece(metadata, fields, text="x", own_id="uuid", at=NOW)
    assert (piece.id, piece.at, piece.speaker, piece.session, piece.sources) == ("7", AT, "Ada", "s", ("m1", "2"))
    bare = read_piece({}, fields, text="x", own_id=None, at="2024-07-20T12:00:00Z")
    assert (bare.id, bare.at, bare.speaker, bare.session, bare.sources) == (make_text_id("x"), NOW, "", "", ())
    assert read_piece({"from": "m1"}, fields, text="x", own_id="uuid").sources == ("m1",)


@pytest.mark.parametrize("value", ["2024-05-08T14:10:00", "soon", "", None, True, 1e20, float("nan"), [], b"x"])
def test_what_is_no_moment_with_a_zone_is_none(value):
    assert parse_moment(value) is None
    assert parse_moment(AT.replace(tzinfo=None)) is None
    assert parse_moment(AT) == parse_moment(AT.timestamp()) == parse_moment(AT.isoformat()) == AT


# --- MemR3 over it


async def test_memr3_answers_over_a_function_without_a_bank():
    cat = known("The cat sleeps on a keyboard.", 2)
    replies = (retrieve("cat collar", cat, gaps=[gap("g")]), settle("x", cat), concluded_("On a keyboard.", 2))
    model, rounds = ScriptedModel(replies), []
    answer = await answer_over(
        CallableRetriever(plain),
        "Where does the cat sleep?",
        model=model,
        settings=LoopSettings(n_chk=2),
        now=NOW,
        exclude=["m0"],
        follow=rounds.append,
    )
    assert (answer.text, answer.abstained) == ("On a keyboard.", False)
    assert [(one.id, one.sources) for one in answer.citations] == [("m2", ("m2",))]
    assert [one.id for one in answer.evidence] == ["m1", "m2", "m3", "m4"]
    assert tuple(rounds) == answer.trace
    assert [len(one.recalls) for one in (answer.receipt,)] == [2]
    assert "[1] (said Wednesday, 8 May 2024, 14:11 by Ada) The cat sleeps on my keyboard all day." in (
        model.prompts[0].text
    )


async def test_it_says_when_there_is_no_model_and_when_the_memory_is_down():
    with pytest.raises(NoModel):
        await answer_over(CallableRetriever(plain), "Who?", model="none")
    with pytest.raises(RecallFailed, match="mine: ConnectionError: gone"):
        await answer_over(CallableRetriever(_down, name="mine"), "Who?", model=ScriptedModel(()))


def _down(text, count, exclude):
    raise ConnectionError("gone")


@pytest.mark.parametrize("bound", [{"limit": 0}, {"max_tokens": 0}, {"now": NOW.replace(tzinfo=None)}])
async def test_bounds_are_checked(bound):
    with pytest.raises(InvalidInput):
        await answer_over(CallableRetriever(plain), "Who?", model=ScriptedModel(()), **bound)


async def test_a_memory_that_holds_nothing_is_asked_and_that_is_said():
    model = ScriptedModel((settle("x"), settle("x")))
    answer = await answer_over(CallableRetriever(lambda text, count, exclude: []), "Who?", model=model, now=NOW)
    assert answer.abstained
    assert not texts_of(answer)


async def test_a_retriever_that_reads_a_bank_says_that_there_is_none():
    with pytest.raises(InvalidInput, match="there is no bank"):
        await answer_over(TemprRetriever(HashEmbedder()), "Where is the cat?", model=ScriptedModel([]))
