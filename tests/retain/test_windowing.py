"""Messages into windows: by hand, when the settings change, and when what was open has been forgotten."""

from datetime import UTC, datetime

import pytest

from recollect import Message
from recollect.domain.segments import Segment, Stream
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.segments import SegmentSettings, read_segment, render_line
from recollect.retain.windowing import advance_stream, window_messages
from recollect.store.protocol import ForgetSelection
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder
from recollect.text.tokens import count_tokens

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
EMBEDDER = HashEmbedder(8)


@pytest.fixture
async def store():
    folder = SqliteFolder(":memory:")
    yield await folder.open("b", embedder=EMBEDDER.name, dimension=8)
    await folder.close()


def encoder(length=None, overlap=0):
    segments = None if length is None else SegmentSettings(length=length, overlap=overlap)
    return TurnEncoder(EMBEDDER, settings=EncodeSettings(segments=segments))


def said(*numbers):
    return [Message(id=f"m{n}", text=f"Toby met Ada in Paris on walk {n}.", speaker="Ben", at=AT) for n in numbers]


COST = count_tokens("[Mon 2023-05-08 13:56] Ben: Toby met Ada in Paris on walk 1.\n")


async def keep(store, encoder, *numbers):
    changes = await encoder.encode(said(*numbers), session="s", reader=store, now=AT)
    await store.commit(changes)
    return changes


async def everything(store):
    return "".join([(await read_segment(store, segment.number)).text for segment in await store.segments()])


class TestAdvanced:
    """By hand: L = 10, an overlap of 3, three messages of 8 tokens."""

    STREAM = Stream(length=10, overlap=3)

    def test_from_the_beginning(self):
        stream, windows = advance_stream(self.STREAM, [("a", 8), ("b", 8), ("c", 8)], ())
        assert stream == Stream(length=10, overlap=3, tokens=24, last="c")
        assert windows == (
            Segment(number=0, first="a", start=0, last="b", end=2),
            Segment(number=1, first="a", start=7, last="c", end=1),
            Segment(number=2, first="b", start=6, last="c", end=8),
            Segment(number=3, first="c", start=5),
        )

    def test_one_by_one(self):
        stream, windows = self.STREAM, ()
        sealed = []
        for id_ in "abc":
            stream, windows = advance_stream(stream, [(id_, 8)], [w for w in windows if not w.is_sealed])
            sealed += [window for window in windows if window.is_sealed]
        whole = advance_stream(self.STREAM, [(id_, 8) for id_ in "abc"], ())
        assert (stream, sorted([*sealed, windows[-1]], key=lambda window: window.number)) == (whole[0], [*whole[1]])

    def test_windows_count_from_where_the_length_changed(self):
        stood = Stream(length=10, overlap=3, base=100, number=40, tokens=108, last="a")
        _, windows = advance_stream(
            stood, [("b", 3)], [Segment(number=40, first="z"), Segment(number=41, first="z", start=7)]
        )
        assert windows == (Segment(number=40, first="z", last="b", end=2), Segment(number=41, first="z", start=7))


async def test_a_retain_that_seals_nothing_writes_the_cursor_alone(store):
    changes = await keep(store, encoder(10 * COST), 1)
    assert changes.segments == (Segment(number=0, first="m1"),)
    assert changes.stream == Stream(length=10 * COST, overlap=0, tokens=COST, last="m1")
    changes = await keep(store, encoder(10 * COST), 2)
    assert changes.segments == ()
    assert changes.stream == Stream(length=10 * COST, overlap=0, tokens=2 * COST, last="m2")
    assert [item.id for item in await store.items_of(["summary"])] == []


async def test_without_segments_there_are_none(store):
    changes = await keep(store, encoder(), 1)
    assert (changes.segments, changes.stream) == ((), None)
    assert (await encoder().catch_up(reader=store)).is_empty


async def test_what_is_sealed_has_an_extract_in_the_same_changes_and_keeps_its_text(store):
    streamed = encoder(3 * COST, COST)
    await keep(store, streamed, 1)
    changes = await keep(store, streamed, 2, 3, 4)
    assert [segment.is_sealed for segment in changes.segments] == [True, False]
    (summary,) = [entry.item for entry in changes.items if entry.item.kind == "summary"]
    assert (summary.id, summary.sources, summary.label) == ("summary:0", ("m1", "m2", "m3"), "extractive")
    text = (await read_segment(store, 0)).text
    assert text == "".join(render_line(message) for message in (await store.messages())[:3])
    await keep(store, streamed, *range(5, 20))
    assert (await read_segment(store, 0)).text == text
    assert await store.items(["summary:0"]) == [summary]


async def test_an_open_segment_only_grows(store):
    streamed = encoder(4 * COST, COST)
    await keep(store, streamed, 1)
    before = (await read_segment(store, 0)).text
    await keep(store, streamed, 2)
    held = await read_segment(store, 0)
    assert held.text.startswith(before)
    assert (held.sealed, held.tokens) == (False, 2 * COST)
    await keep(store, streamed, 3, 4)
    assert (await read_segment(store, 0)).text.startswith(held.text)
    assert (await read_segment(store, 0)).sealed


async def test_other_settings_seal_what_is_open_and_begin_anew(store):
    await keep(store, encoder(4 * COST, 3 * COST), 1, 2)
    assert await store.segments([0, 1]) == [Segment(number=0, first="m1"), Segment(number=1, first="m2")]
    changes = await keep(store, encoder(2 * COST), 3, 4, 5)
    assert changes.segments == (
        Segment(number=0, first="m1", last="m2"),
        Segment(number=1, first="m2", last="m2"),
        Segment(number=2, first="m3", last="m4", end=COST),
        Segment(number=3, first="m5"),
    )
    assert changes.stream == Stream(length=2 * COST, overlap=0, base=2 * COST, number=2, tokens=5 * COST, last="m5")
    summaries = {item.id: item.sources for item in await store.items_of(["summary"])}
    assert summaries == {"summary:0": ("m1", "m2"), "summary:1": ("m2",), "summary:2": ("m3", "m4")}
    assert await store.segments_of(["m2", "m5"]) == {"m2": (0, 1), "m5": (3,)}


async def test_what_was_kept_without_segments_is_put_in_first(store):
    await keep(store, encoder(), 1, 2, 3)
    await keep(store, encoder(2 * COST), 4)
    assert [(s.number, s.first, s.last) for s in await store.segments()] == [(0, "m1", "m2"), (1, "m3", "m4")]
    await keep(store, encoder(), 5, 6)
    assert "walk 5" not in await everything(store)
    caught_up = await encoder(2 * COST).catch_up(reader=store)
    await store.commit(caught_up)
    assert [(s.number, s.first, s.last) for s in await store.segments()][2:] == [(2, "m5", "m6")]
    assert await store.unsegmented() == []
    assert "walk 5" in await everything(store)
    assert (await encoder(2 * COST).catch_up(reader=store)).is_empty


async def test_what_was_forgotten_counts_for_where_windows_end(store):
    streamed = encoder(3 * COST)
    await keep(store, streamed, 1, 2)
    await forget(store, streamed, "m1")
    await keep(store, streamed, 3, 4)
    assert await store.segments() == [
        Segment(number=0, first="m2", last="m3", end=COST),
        Segment(number=1, first="m4"),
    ]
    assert (await store.items(["summary:0"]))[0].sources == ("m2", "m3")


@pytest.mark.parametrize("copied", [False, True])
async def test_windows_of_which_nothing_is_left_go_on_with_what_comes(store, copied):
    """Two are open: of the one nothing is left, of the other nothing but its first message."""
    streamed = encoder(3 * COST, 2 * COST)
    await keep(store, streamed, 1, 2)
    await forget(store, streamed, "m2")
    assert [segment.number for segment in await store.segments([0, 1])] == [0]
    folder = SqliteFolder(":memory:")
    if copied:
        copy = await folder.open("copy", embedder=EMBEDDER.name, dimension=8)
        async for part in store.dump():
            await copy.commit(part)
        store = copy
    await keep(store, streamed, 3, 4)
    assert await store.segments() == [
        Segment(number=0, first="m1", last="m3", end=COST),
        Segment(number=1, first="m3", last="m4", end=COST),
        Segment(number=2, first="m3"),
    ]
    await folder.close()


async def test_windows_that_lost_everything_end_with_their_settings(store):
    await keep(store, encoder(5 * COST), 1, 2)
    await forget(store, encoder(5 * COST), "m1", "m2")
    await keep(store, encoder(2 * COST), 3)
    assert await store.segments() == [Segment(number=1, first="m3")]
    assert await store.segments([0]) == []


async def test_as_of_leaves_out_what_was_recorded_later(store):
    streamed = encoder(3 * COST, COST)
    for n in (1, 2, 3):
        now = AT.replace(hour=13 + n)
        await store.commit(await streamed.encode(said(n), session="s", reader=store, now=now))
    messages = await store.messages()
    held = await read_segment(store, 0, as_of=AT.replace(hour=15))
    assert (held.messages, held.sealed, held.tokens) == (tuple(messages[:2]), False, 2 * COST)
    assert held.text == "".join(map(render_line, messages[:2]))
    assert (await read_segment(store, 0, as_of=AT)).messages == ()
    assert (await read_segment(store, 0, as_of=AT.replace(hour=16))).sealed
    assert (await read_segment(store, 99)).text == ""


async def test_nothing_new_changes_nothing(store):
    await keep(store, encoder(3 * COST), 1)
    assert await window_messages((), store, SegmentSettings(length=3 * COST, overlap=0)) is None
    assert (await keep(store, encoder(3 * COST), 1)).is_empty


async def forget(store, encoder, *messages):
    selection = ForgetSelection(messages=messages)
    torn = await store.plan_forget(selection)
    await store.forget(selection, await encoder.encode_remaining(torn, reader=store))
