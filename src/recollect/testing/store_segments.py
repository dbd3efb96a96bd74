"""The part of the stores' contract about windows over the stream of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast

import pytest

from recollect.domain.changes import Changeset
from recollect.domain.items import ItemKind
from recollect.domain.segments import Segment, Stream
from recollect.errors import InvalidInput, StaleWrite
from recollect.store.capabilities import SegmentReader
from recollect.store.protocol import Capability, ForgetSelection, Store
from recollect.store.stores import Stores
from recollect.testing.store_forgetting import derived
from recollect.testing.store_material import DIMENSION, EMBEDDER, changes_of, indexed, message

STREAM = Stream(length=10, overlap=6, base=3, number=0, tokens=19, last="m7")

# Two segments are sealed and two are open. m8 is in none of them.
SEGMENTS = (
    Segment(number=0, first="m0", start=2, last="m3", end=1),
    Segment(number=1, first="m2", start=0, last="m5"),
    Segment(number=2, first="m4", start=3),
    Segment(number=3, first="m6", start=1),
)


class SegmentStore(SegmentReader, Store, Protocol):
    """A store that keeps segments and can be written."""


async def filled(store: SegmentStore, segments: Sequence[Segment] = SEGMENTS) -> None:
    said = [message(n) for n in range(9)]
    await store.commit(replace(changes_of(said), segments=tuple(segments), stream=STREAM))


async def ids_in(store: SegmentStore, number: int) -> list[str]:
    return [one.id for one in (await store.segment_messages([number])).get(number, ())]


class SegmentsContract:
    """The contract of segments."""

    @pytest.fixture
    def segmented(self, store: Store) -> SegmentStore:
        """Return the store if it offers segments. If the store declares none, skip these tests."""
        if Capability.SEGMENTS not in store.capabilities:
            pytest.skip("the store declares no segments")
        return cast(SegmentStore, store)

    async def test_a_new_bank_has_no_segments(self, segmented: SegmentStore) -> None:
        await segmented.commit(changes_of([message(0)]))
        assert (await segmented.stream(), await segmented.segments(), await segmented.segments([0])) == (None, [], [])
        assert [one.id for one in await segmented.unsegmented()] == ["m0"]
        assert (await segmented.segments_of(["m0"]), await segmented.segment_messages([0])) == ({}, {})
        assert (await segmented.info()).segments == 0

    async def test_segments_come_back_as_they_were_given(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        assert await segmented.stream() == STREAM
        assert await segmented.segments() == list(SEGMENTS[:3])
        assert await segmented.segments([3, 1, 9]) == [SEGMENTS[1], SEGMENTS[3]]
        assert (await segmented.info()).segments == 3

    async def test_a_later_value_takes_the_place_of_an_earlier_one(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        sealed = replace(SEGMENTS[2], last="m8", end=4)
        stood = replace(STREAM, tokens=25, last="m8")
        await segmented.commit(Changeset(segments=(sealed,), stream=stood))
        assert await segmented.segments() == [*SEGMENTS[:2], sealed, SEGMENTS[3]]
        assert (await segmented.stream(), await segmented.unsegmented()) == (stood, [])

    async def test_a_segment_has_the_messages_between_its_ends(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        assert await ids_in(segmented, 0) == ["m0", "m1", "m2", "m3"]
        assert await ids_in(segmented, 1) == ["m2", "m3", "m4", "m5"]
        assert await ids_in(segmented, 3) == ["m6", "m7"]
        assert await ids_in(segmented, 9) == []

    async def test_an_open_segment_goes_as_far_as_the_stream(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        assert await ids_in(segmented, 2) == ["m4", "m5", "m6", "m7"]
        assert [one.id for one in await segmented.unsegmented()] == ["m8"]
        await segmented.commit(Changeset(stream=replace(STREAM, last="m8")))
        assert await ids_in(segmented, 2) == ["m4", "m5", "m6", "m7", "m8"]

    async def test_messages_are_in_the_segments_that_hold_some_of_them(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        assert await segmented.segments_of(["m3", "m0", "m7", "m8", "unknown", "m4"]) == {
            "m0": (0,),
            "m3": (0, 1),
            "m4": (1, 2),
            "m7": (2,),
        }

    async def test_a_segment_of_an_unknown_message_is_refused(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        for bad in (
            Changeset(segments=(Segment(number=4, first="nowhere"),)),
            Changeset(segments=(Segment(number=4, first="m1", last="nowhere"),)),
            Changeset(stream=replace(STREAM, last="nowhere")),
        ):
            with pytest.raises(InvalidInput):
                await segmented.commit(bad)
        assert (await segmented.stream(), await segmented.segments()) == (STREAM, list(SEGMENTS[:3]))

    async def test_a_segment_holds_what_is_left_of_it(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        await segmented.forget(ForgetSelection(messages=("m0", "m3", "m4")))
        assert await segmented.segments([0, 1, 2, 3]) == [
            Segment(number=0, first="m1", start=0, last="m2"),
            Segment(number=1, first="m2", start=0, last="m5"),
            Segment(number=2, first="m5", start=0),
            SEGMENTS[3],
        ]
        assert await ids_in(segmented, 0) == ["m1", "m2"]
        assert await segmented.segments_of(["m2", "m5"]) == {"m2": (0, 1), "m5": (1, 2)}

    async def test_a_segment_of_which_nothing_is_left_is_none(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        await segmented.forget(ForgetSelection(messages=("m2", "m3", "m4", "m5", "m6", "m7")))
        assert await segmented.segments([0, 1, 2, 3]) == [Segment(number=0, first="m0", start=2, last="m1")]
        assert [segment.number for segment in await segmented.segments()] == [0]
        assert (await segmented.stream(), (await segmented.info()).segments) == (replace(STREAM, last="m1"), 1)
        assert [one.id for one in await segmented.unsegmented()] == ["m8"]

    async def test_what_windowing_has_left_behind_is_none(self, segmented: SegmentStore) -> None:
        """A window was open when the length changed, and everything in it had been forgotten before."""
        await filled(segmented)
        await segmented.forget(ForgetSelection(messages=("m6", "m7")))
        await segmented.commit(
            Changeset(
                segments=(replace(SEGMENTS[2], last="m5"), Segment(number=4, first="m8")),
                stream=Stream(length=5, overlap=0, base=19, number=4, tokens=21, last="m8"),
            )
        )
        assert [segment.number for segment in await segmented.segments()] == [0, 1, 2, 4]
        assert await segmented.segments([3]) == []

    async def test_what_would_be_left_of_segments_is_told(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        plan = (await segmented.plan_forget(ForgetSelection(messages=("m3", "m7")))).segments
        assert [(one.segment, [left.id for left in one.remaining]) for one in plan] == [
            (Segment(number=0, first="m0", start=2, last="m2"), ["m0", "m1", "m2"]),
            (SEGMENTS[1], ["m2", "m4", "m5"]),
        ]
        everything = ForgetSelection(messages=("m0", "m1", "m2", "m3"))
        plan = (await segmented.plan_forget(everything)).segments
        assert [(one.segment.number, [left.id for left in one.remaining]) for one in plan] == [(1, ["m4", "m5"])]
        assert (await segmented.plan_forget(ForgetSelection(messages=("m6",)))).segments == ()

    async def test_a_summary_is_no_reason_to_read_messages_again(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        summary = derived("summary:0", ItemKind.SUMMARY, ("m0", "m1", "m2"))
        await segmented.commit(Changeset(items=(summary, derived("fact", ItemKind.FACT, ("m1", "m2")))))
        assert (await segmented.plan_forget(ForgetSelection(messages=("m0",)))).to_reread == ()
        assert [one.id for one in (await segmented.plan_forget(ForgetSelection(messages=("m1",)))).to_reread] == ["m2"]
        assert [one.id for one in await segmented.find_unread()] == ["m0", *(f"m{n}" for n in range(3, 9))]

    async def test_summaries_are_made_anew_with_the_forgetting(self, segmented: SegmentStore) -> None:
        await filled(segmented)
        await segmented.commit(Changeset(items=(derived("summary:0", ItemKind.SUMMARY, ("m0", "m1", "m2")),)))
        selection = ForgetSelection(messages=("m0",))
        remade = derived("summary:0", ItemKind.SUMMARY, ("m1", "m2"))
        version = (await segmented.plan_forget(selection)).version
        await segmented.forget(selection, Changeset(expected_version=version, items=(remade,)))
        assert await segmented.items(["summary:0"]) == [remade.item]

    async def test_a_torn_turn_is_to_be_remade_whatever_else_is(self, segmented: SegmentStore) -> None:
        said = [message(0), message(1), message(2)]
        await segmented.commit(changes_of(said, items=(indexed(said[0], others=("m1",)), indexed(said[2]))))
        selection = ForgetSelection(messages=("m0",))
        remade = Changeset(
            expected_version=(await segmented.plan_forget(selection)).version,
            items=(derived("summary:0", ItemKind.SUMMARY, ("m1",)),),
        )
        with pytest.raises(StaleWrite):
            await segmented.forget(selection, remade)

    async def test_segments_are_in_a_dump(self, stores: Stores, segmented: SegmentStore) -> None:
        await filled(segmented)
        await segmented.forget(ForgetSelection(messages=("m0", "m7")))
        copy = cast(SegmentStore, await stores.open("copy", embedder=EMBEDDER, dimension=DIMENSION))
        async for part in segmented.dump():
            await copy.commit(part)
        assert await copy.stream() == replace(STREAM, last="m6") == await segmented.stream()
        assert await copy.segments(range(5)) == await segmented.segments(range(5))
        assert await copy.segments() == await segmented.segments()
        assert [one.id for one in await copy.unsegmented()] == ["m8"]
        for number in range(4):
            assert await ids_in(copy, number) == await ids_in(segmented, number)
