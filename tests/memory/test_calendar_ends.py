"""Times at the ends of the calendar, and times that no clock shows: refused at every door, and harmless in a bank."""

import json
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

import recollect.domain.messages
from recollect import Fact, Memory, Message
from recollect.domain.time import FIRST_MOMENT, LAST_MOMENT, Interval, Precision
from recollect.errors import InvalidInput, MalformedLine, NaiveDatetime
from recollect.formats import read_messages
from recollect.testing.models import HashEmbedder

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
BERLIN, SANTIAGO = ZoneInfo("Europe/Berlin"), ZoneInfo("America/Santiago")
ZONES = [
    UTC,
    timezone(timedelta(hours=14)),
    timezone(timedelta(hours=23, minutes=59)),
    timezone(timedelta(hours=-23, minutes=-59)),
    timezone(timedelta(microseconds=1)),
    ZoneInfo("America/New_York"),
    ZoneInfo("Pacific/Apia"),
]
ENDS = [
    datetime.min.replace(tzinfo=UTC),
    datetime(1, 1, 8, tzinfo=UTC),
    datetime(2, 12, 30, tzinfo=UTC),
    datetime(9997, 1, 3, tzinfo=UTC),
    datetime(9999, 12, 31, tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
]
WORDS = "Bram went to Paris last week, see you next week, in 3 years, next century, ten years ago, in 99 years"


class _Broken(tzinfo):
    def utcoffset(self, _):
        raise RuntimeError("no offset")


@pytest.fixture
async def bank():
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        yield await memory.bank("b")


REFUSED = [
    *(pytest.param(end.replace(tzinfo=zone), id=f"{end:%Y-%m-%d} {zone}") for end in ENDS for zone in ZONES),
    pytest.param(datetime(2024, 3, 31, 2, 30, tzinfo=BERLIN), id="a gap"),
    pytest.param(datetime(2024, 5, 1, tzinfo=_Broken()), id="a broken zone"),
    pytest.param("2024-05-01", id="a string"),
    pytest.param(NOW.date(), id="a day"),
    pytest.param(NOW.replace(tzinfo=None), id="a naive time"),
]


@pytest.mark.parametrize("at", REFUSED)
async def test_every_door_of_the_library_refuses_it(bank, at):
    with pytest.raises(InvalidInput, match=r"Message\.at"):
        Message(text="hello", at=at)
    with pytest.raises(InvalidInput, match=r"Fact\.mentioned"):
        Fact(subject="Ada", predicate="has", object="Toby", mentioned=at)
    with pytest.raises(InvalidInput, match="now"):
        await bank.recall("hello", now=at)
    with pytest.raises(InvalidInput, match="as_of"):
        await bank.recall("hello", as_of=at)
    assert await bank.messages() == []


@pytest.mark.parametrize("at", [param for param in REFUSED if param.id != "a gap"])
async def test_no_interval_with_it_is_searched_or_forgotten(bank, at):
    await bank.retain(Message(text="hello", at=NOW))
    for start, end in ((at, None), (None, at)):
        with pytest.raises(InvalidInput):
            await bank.recall("hello", during=Interval(start=start, end=end, precision=Precision.RANGE))
        with pytest.raises(InvalidInput):
            await bank.forget(during=Interval(start=start, end=end, precision=Precision.RANGE))
    assert len(await bank.messages()) == 1


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+14:00", "9999-12-31T00:00:00-23:59"])
async def test_an_import_of_it_is_refused_as_a_whole(bank, at):
    await bank.retain(Message(text="hello", at=NOW))
    lines = [json.loads(line) async for line in bank.export()]
    for line in lines:
        if line["type"] == "message":
            line["at"] = at
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        with pytest.raises(MalformedLine, match="end of the calendar"):
            await memory.import_bank("b", [json.dumps(line) for line in lines])
        assert await memory.banks() == ()


@pytest.mark.parametrize(
    "lines",
    [
        ['{"text": "hello", "at": "0001-01-01T00:00:00Z"}'],
        ['{"text": "hello", "at": "9999-12-31T23:59:59-23:59"}'],
        ['{"text": "hello", "at": -62135596800}'],
        ['{"text": "hello", "at": "2024-03-31T02:30:00"}'],
        ["[2024-03-31 02:30] Ada: hello"],
        ["[0001-01-01 00:00] Ada: hello"],
        ['[{"role": "user", "content": "hello", "timestamp": "9999-12-31T00:00:00Z"}]'],
    ],
)
def test_no_transcript_with_it_is_read(lines):
    with pytest.raises(InvalidInput, match=r"calendar|skip"):
        list(read_messages(lines, now=NOW, zone=BERLIN))


async def test_a_time_near_the_ends_and_one_of_two_equal_hours_are_kept(bank):
    first, second = (datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1))
    for at in (FIRST_MOMENT, LAST_MOMENT, first, second):
        await bank.retain(Message(text=WORDS, at=at))
        assert (await bank.recall("Bram Paris last week", now=at)).receipt.complete
    assert [message.at for message in await bank.messages()] == [
        FIRST_MOMENT,
        LAST_MOMENT,
        first.astimezone(UTC),
        second.astimezone(UTC),
    ]


async def test_a_day_may_begin_at_a_midnight_that_clocks_skip(bank):
    await bank.retain(Message(text="hello", at=datetime(2024, 9, 8, 9, tzinfo=SANTIAGO)))
    midnight = datetime(2024, 9, 8, tzinfo=SANTIAGO)
    day = Interval(start=midnight, end=midnight + timedelta(days=1), precision=Precision.DAY)
    assert len((await bank.recall("hello", during=day)).evidence) == 1


def test_an_interval_over_an_hour_that_is_set_back_is_not_inverted():
    start = datetime(2024, 10, 27, 2, 45, tzinfo=BERLIN)
    end = datetime(2024, 10, 27, 2, 15, tzinfo=BERLIN, fold=1)
    Interval(start=start, end=end, precision=Precision.RANGE)
    with pytest.raises(InvalidInput, match="before it starts"):
        Interval(start=end, end=start, precision=Precision.RANGE)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("end", ENDS)
async def test_a_bank_that_holds_one_stays_usable(tmp_path, monkeypatch, end, zone):
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        await bank.retain([Message(id="good", text="Ada adopted Toby")], session="s")
        with monkeypatch.context() as earlier:  # versions that kept every time
            earlier.setattr(recollect.domain.messages, "require_moment", lambda name, moment: moment)
            message = Message(id="zero", text=WORDS, at=end.replace(tzinfo=zone))
        await bank.retain([message], session="s")
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        await bank.retain([Message(id="later", text="Ada moved to York")], session="s")
        assert (await bank.recall("Bram Paris last week")).receipt.complete
        assert {message.id for message in await bank.messages()} == {"good", "zero", "later"}
        assert (await bank.info()).messages == 3
        assert len(await bank.items("turn")) == 3
        await memory.import_bank("copy", [line async for line in bank.export()])
        await bank.rebuild()
        assert (await bank.forget(messages="good")).verified
        assert (await bank.forget(messages="zero")).verified


def test_a_naive_time_has_its_own_error():
    with pytest.raises(NaiveDatetime):
        Message(text="hello", at=NOW.replace(tzinfo=None))
