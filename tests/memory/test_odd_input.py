"""What people and programs really say: kept byte for byte, or refused with a clear error and nothing stored."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect import Memory, Message, Role
from recollect.domain.time import FIRST_MOMENT, LAST_MOMENT, Interval, Precision
from recollect.errors import BadBankName, BankNotFound, InvalidInput, MessageConflict, NaiveDatetime, RecollectError
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, 12, tzinfo=UTC)
FIRST, LAST = FIRST_MOMENT + timedelta(days=1), LAST_MOMENT - timedelta(days=1)
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12, minutes=-30))

TEXTS = {
    "empty": "",
    "blank": " \t\n",
    "emoji": "🐕👩‍👩‍👧 and 🏳️‍🌈",
    "nul": "before\0after \0",
    "right to left": "שלום ‮عليكم‬ hello",
    "combining": "e\u0301\u0300 \u1100\u1161\u11a8",
    "unspaced": "昨日、東京で寿司を食べました。" * 30,
    "controls": "\x01\x02\x1b[31m\x7f\x85\u2028\u2029\ufeff\ufffe\U0010ffff",
    "line ends": "a\r\nb\rc\n\n",
    "quotes": "\"'`«» \\ \\u0000 %s {} $1 ?1 :a -- /* ; DROP TABLE message",
    "json": '{"type": "message", "text": "x"}',
    "one long word": "a" * 100_000,
    "a million characters": "Ada adopted Toby the dog. " * 40_000,
    "a million lines": "\n" * 1_000_000,
}


@pytest.fixture
async def memory(tmp_path):
    async with Memory.open(tmp_path / "banks", embedder=HashEmbedder(), clock=lambda: AT) as memory:
        yield memory


@pytest.fixture
async def bank(memory):
    return await memory.bank("bank")


@pytest.mark.parametrize("name", TEXTS)
async def test_texts_come_back_byte_for_byte(tmp_path, memory, bank, name, assert_sound):
    text = TEXTS[name]
    said = [
        Message(text=text, speaker=text[:200] or "nobody", captions=(text[:3000], ""), id="m1"),
        Message(text=text[:20_000], role=Role.ASSISTANT, speaker="assistant", id="m2"),
        Message(text="Ada Lovelace was here", id="m3"),
    ]
    await bank.retain(said, session="s")
    twice = await bank.retain(said, session="s")
    assert (twice.messages, twice.skipped) == ((), 3)
    for again in (False, True):
        reader = await _opened_again(memory) if again else bank
        kept = await reader.messages()
        assert [(m.text.encode(), m.speaker, m.captions, m.role) for m in kept] == [
            (m.text.encode(), m.speaker, m.captions, m.role) for m in said
        ]
        found = await reader.recall("Who is Ada Lovelace? " + text[:2000], max_tokens=None)
        assert found.receipt.complete
        assert {"m3"} <= {source for evidence in found.evidence for source in evidence.sources}
    assert_sound(tmp_path / "banks" / "bank.bank")
    receipt = await reader.forget(messages=["m1", "m2"])
    assert set(receipt.messages) == {"m1", "m2"}
    assert receipt.verified


async def _opened_again(memory):
    await memory.close()
    return await memory.bank("bank")


@pytest.mark.parametrize("name", [*(name for name in TEXTS if "million" not in name), "only signs"])
async def test_any_text_is_a_question(bank, name):
    await bank.retain(Message(text="Ada adopted a dog", at=AT))
    text = {**TEXTS, "only signs": '"!!!" «???» “"”'}[name]
    for question in (text, f'"{text}"', f"«{text[:150]}» yesterday?"):
        assert (await bank.recall(question)).receipt.complete


@pytest.mark.parametrize(
    "at",
    [
        FIRST,
        LAST,
        FIRST.replace(tzinfo=EAST),
        FIRST.replace(tzinfo=WEST),
        LAST.replace(tzinfo=EAST),
        LAST.replace(tzinfo=WEST),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        AT.astimezone(timezone(timedelta(hours=5, minutes=45))),
    ],
)
@pytest.mark.parametrize("text", ["hello", "I met Ada yesterday, and will again next week, in May or in 3 years."])
async def test_times_keep_their_moment_and_their_zone(memory, bank, at, text):
    await bank.retain([Message(text="before", at=AT), Message(text=text, at=at, id="m")], session="s")
    for again in (False, True):
        reader = await _opened_again(memory) if again else bank
        (kept,) = await reader.messages(["m"])
        assert (kept.at.replace(tzinfo=None), kept.at.utcoffset()) == (at.replace(tzinfo=None), at.utcoffset())
        assert (await reader.recall("hello Ada last week?")).receipt.complete
        assert (await reader.recall("hello Ada last week?", now=at)).receipt.complete
        await reader.info()
        await reader.retain(Message(text="Ada went on to Paris, said Ada Lovelace.", at=at), session="s")


@pytest.mark.parametrize("session", ["a/b", "..", "nul", "\0", "🐕", " x ", "s" * 10_000, "'; --", "\n"])
async def test_sessions_are_called_anything_but_blank(bank, session):
    if not session.strip():
        with pytest.raises(InvalidInput):
            await bank.retain(Message(text="hello"), session=session)
        return
    await bank.retain([Message(text="hello", id="m1"), Message(text="hi", role=Role.ASSISTANT)], session=session)
    await bank.retain(Message(text="other"), session="other")
    assert (await bank.retain(Message(text="hello", id="m1"), session=session)).skipped == 1
    found = await bank.recall("hello", sessions=session)
    assert [e.session for e in found.evidence] == [session]
    assert (await bank.forget(session=session)).sessions == 1
    assert [m.session for m in await bank.messages()] == ["other"]


@pytest.mark.parametrize("id_", ["🐕", " ", "turn:0:x", "#", "x#2", "1:x", ":", "'", '"', "\\u0000", "i" * 10_000])
async def test_messages_have_any_id(bank, id_):
    said = [Message(text="hello", id=id_), Message(text="hi", role=Role.ASSISTANT, speaker="ai", id=id_ + "-")]
    await bank.retain(said[0], session="s")
    await bank.retain(said[1], session="s")
    assert (await bank.retain(said, session="s")).skipped == 2
    assert [m.text for m in await bank.messages([id_])] == ["hello"]
    (evidence,) = (await bank.recall("hello")).evidence
    assert evidence.sources == (id_, id_ + "-")
    with pytest.raises(MessageConflict):
        await bank.retain(Message(text="goodbye", id=id_), session="s")
    assert (await bank.recall("hello", exclude=[id_])).evidence == ()
    assert (await bank.forget(messages=id_)).messages == (id_,)
    assert [m.id for m in await bank.messages()] == [id_ + "-"]


async def test_lone_surrogates_are_refused_wherever_they_stand(bank):
    bad = "half \ud83d"
    refused = [
        lambda: bank.retain(Message(text=bad)),
        lambda: bank.retain(Message(text="x", speaker=bad)),
        lambda: bank.retain(Message(text="x", captions=(bad,))),
        lambda: bank.retain(Message(text="x", id=bad)),
        lambda: bank.retain(Message(text="x"), session=bad),
    ]
    for attempt in refused:
        with pytest.raises(InvalidInput, match="surrogate"):
            await attempt()
    for harmless in (
        bank.recall(bad),
        bank.recall("x", sessions=bad),
        bank.recall("x", exclude=bad),
        bank.messages([bad]),
    ):
        with suppress(InvalidInput):
            await harmless
    assert (await bank.forget(messages="unknown")).messages == ()
    assert await bank.messages() == []


@pytest.mark.parametrize("id_", ["\0", "a\0b"])
async def test_ids_hold_no_nul(id_):
    with pytest.raises(InvalidInput, match="NUL"):
        Message(text="x", id=id_)


async def test_the_same_id_twice_in_one_call(bank):
    one, same, other = Message(text="x", id="m"), Message(text="x", id="m"), Message(text="y", id="m")
    receipt = await bank.retain([one, same], session="s")
    assert (receipt.messages, receipt.skipped) == (("m",), 1)
    for session, words in (("s", other), ("t", one)):
        with pytest.raises(MessageConflict, match="'m'"):
            await bank.retain([Message(text="new"), words], session=session)
    with pytest.raises(MessageConflict):
        await bank.retain([Message(text="a", id="n"), Message(text="b", id="n")], session="s")
    assert [m.text for m in await bank.messages()] == ["x"]


async def test_naive_times_are_refused(bank):
    naive = datetime(2024, 5, 1)  # noqa: DTZ001
    with pytest.raises(NaiveDatetime):
        Message(text="x", at=naive)
    for bad in ({"now": naive}, {"as_of": naive}):
        with pytest.raises(NaiveDatetime):
            await bank.recall("x", **bad)
    with pytest.raises(NaiveDatetime):
        Interval(start=naive, end=None, precision=Precision.DAY)


@pytest.mark.parametrize(
    "bad", [{"limit": 0}, {"limit": -1}, {"max_tokens": 0}, {"max_tokens": -5}, {"effort": "huge"}, {"kinds": ["x"]}]
)
async def test_bounds_that_make_no_sense_are_refused(bank, bad):
    await bank.retain(Message(text="x"))
    with pytest.raises(InvalidInput, match=r"-?\d|'huge'|'x'"):
        await bank.recall("x", **bad)


async def test_nothing_to_retain_and_nothing_to_forget(bank):
    receipt = await bank.retain([], session="s")
    assert (receipt.messages, receipt.items, receipt.session) == ((), 0, "s")
    with pytest.raises(InvalidInput, match="session"):
        await bank.forget()
    found = await bank.recall("anything at all last week")
    assert (found.evidence, found.receipt.complete) == ((), True)
    assert (await bank.info()).sessions == 0


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "a/b", "a\\b", "..", ".", "a..b", ".hidden", "a.", "c:d", "*", "~", "-"),
        *("", " ", "a ", "a\n", "nul", "NUL.txt", "a\0b", "\ud800"),
        *("x" * 101, "字" * 100, "ä" * 99 + "🐕"),
    ],
)
async def test_names_that_could_leave_the_folder_are_refused(tmp_path, memory, name):
    await memory.banks()
    before = sorted(tmp_path.rglob("*"))
    for attempt in (memory.bank(name), memory.bank(name, create=False), memory.drop(name), memory.rebuild(name)):
        with pytest.raises(BadBankName):
            await attempt
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["ünïcode ok", "a", "x" * 100, "字" * 79, "a.b.c@d+e-f_g", "2024", "a.bank", "x.hnsw"])
async def test_names_that_are_fine(tmp_path, memory, name):
    bank = await memory.bank(name)
    await bank.retain(Message(text="hello"))
    assert await memory.banks() == (name,)
    await memory.close()
    assert len(await (await memory.bank(name, create=False)).messages()) == 1
    await memory.drop(name)
    assert await memory.banks() == ()
    left = {path.name: path.stat().st_size for path in (tmp_path / "banks").iterdir()}
    assert left == {".recollect.lock": 0, ".recollect.turns": 0}  # no word of a bank is in them


async def test_a_name_in_another_form_is_the_same_bank(memory):
    composed, apart = "\u00fcber", "u\u0308ber"
    bank = await memory.bank(composed)
    await bank.retain(Message(text="old"))
    assert await memory.bank(apart) is bank
    await memory.drop(apart)
    again = await memory.bank(composed)
    assert await again.messages() == []
    await again.retain(Message(text="new"))
    assert [m.text for m in await again.messages()] == ["new"]


async def test_unknown_banks_are_named_with_those_there_are(memory):
    await memory.bank("ada")
    for attempt in (memory.bank("bob", create=False), memory.drop("bob"), memory.rebuild("bob")):
        with pytest.raises(BankNotFound, match="ada"):
            await attempt
    assert await memory.banks() == ("ada",)


async def test_a_bank_that_is_closed_says_so(memory, bank):
    await bank.retain(Message(text="x"))
    await memory.close()
    for attempt in (bank.retain(Message(text="y")), bank.recall("x"), bank.messages(), bank.forget(speaker="user")):
        with pytest.raises(RecollectError):
            await attempt
    assert len(await (await memory.bank("bank")).messages()) == 1
