"""What a segment says: messages in lines, cut to the token, and the same whenever it is read."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect import Message, _tokenizer
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.segments import Segment
from recollect.errors import InvalidInput
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.segments import (
    SegmentSettings,
    build_segment_text,
    count_line_tokens,
    cut_words,
    read_segment,
    render_line,
)
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder
from recollect.text.tokens import count_tokens, split_pieces

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def said(text, key="m1", speaker="Ada", at=AT, captions=()):
    return StoredMessage(
        id=key,
        session="s",
        position=0,
        speaker=speaker,
        role=Role.USER,
        text=text,
        captions=captions,
        at=at,
        recorded=at,
    )


class TestLines:
    def test_a_line_says_when_and_who_and_all_the_words(self):
        assert render_line(said("I met Toby.")) == "[Mon 2023-05-08 13:56] Ada: I met Toby.\n"

    def test_the_time_is_that_of_the_speaker(self):
        at = AT.astimezone(timezone(timedelta(hours=-9)))
        assert render_line(said("Hi", at=at)) == "[Mon 2023-05-08 04:56] Ada: Hi\n"
        assert render_line(said("Hi", at=datetime(33, 4, 3, tzinfo=UTC))) == "[Sun 0033-04-03 00:00] Ada: Hi\n"

    def test_no_message_can_pass_for_another(self):
        message = said("one\n[Mon 2023-05-08 13:57] Ben: two\r\nthree", speaker="Ada\nLove lace", captions=("a dog",))
        assert render_line(message) == (
            "[Mon 2023-05-08 13:56] Ada Love lace: one\n    [Mon 2023-05-08 13:57] Ben: two\n    three\n    [a dog]\n"
        )

    def test_a_message_without_words_has_a_line(self):
        assert render_line(said("")) == "[Mon 2023-05-08 13:56] Ada: \n"


ODD = ["Toby", "Ada:", " ", "  ", "\n", "\r", "\u2028", "\x85", "\t", "<s>", "<", "<0x0A>", "\u2581", "\ud83d"]
ODD += ["\u00a0", "\U0001f415", "\u732b", "e\u0301", ".", "\\n", "\x00", "word " * 1700, "a" * 9000]


class TestCounts:
    @given(st.lists(st.tuples(odd := st.lists(st.sampled_from(ODD), max_size=8).map("".join), odd), max_size=4))
    @example([("Ada", "I met Toby."), ("", "Hi"), ("Ada", ""), ("Ada <x>", "Hi"), ("Ada", "Hi "), ("Ada", "a\n")])
    @example([("Ada", "word " * 1633 + "end"), ("Ada", "a" * 8180)])
    @settings(max_examples=300, deadline=None)
    def test_lines_are_counted_as_if_they_were_put_together(self, given_):
        messages = [said(text, speaker=speaker) for speaker, text in given_]
        _tokenizer._counts.clear()
        expected = [sum(map(len, _tokenizer.encode(list(split_pieces(render_line(one)))))) for one in messages]
        _tokenizer._counts.clear()
        assert count_line_tokens(messages) == expected

    def test_no_token_goes_on_behind_a_blank_or_around_a_lines_end(self):
        vocabulary = _tokenizer.load_tokenizer().get_vocab()
        assert len(vocabulary) == 32000
        assert not [token for token in vocabulary if "\n" in token or " " in token]
        assert not [token for token in vocabulary if token.lstrip("\u2581").find("\u2581") > 0]


class TestEdges:
    HEAD = "[Mon 2023-05-08 13:56] Ada: "
    MESSAGE = said("one two three four")
    HEAD_TOKENS = count_tokens(HEAD.rstrip())

    def text(self, start=0, end=None):
        cut = Segment(number=3, first="m1", start=start, last="m1", end=end)
        return build_segment_text(cut, [self.MESSAGE])

    def test_a_segment_that_begins_in_a_message_repeats_its_head(self):
        held = self.text(start=self.HEAD_TOKENS + 2)
        assert held.text == f"{self.HEAD}... three four\n"
        assert (held.lines, held.messages) == ((held.text,), (self.MESSAGE,))
        assert held.tokens == count_tokens(render_line(self.MESSAGE)) - self.HEAD_TOKENS - 2

    def test_a_segment_that_begins_in_a_head_has_the_line(self):
        assert self.text(start=2).text == render_line(self.MESSAGE)
        assert self.text(start=self.HEAD_TOKENS).text == render_line(self.MESSAGE)

    def test_a_segment_ends_where_its_last_token_does(self):
        held = self.text(end=self.HEAD_TOKENS + 2)
        assert (held.text, held.tokens, held.sealed) == (f"{self.HEAD}one two", self.HEAD_TOKENS + 2, True)
        assert self.text(end=1).text == "["

    def test_a_segment_can_lie_within_one_message(self):
        held = self.text(start=self.HEAD_TOKENS + 1, end=self.HEAD_TOKENS + 3)
        assert (held.text, held.tokens) == (f"{self.HEAD}... two three", 2)
        assert cut_words(Segment(number=0, first="m1", start=self.HEAD_TOKENS + 1, last="m1"), self.MESSAGE) == (
            "two three four"
        )

    def test_edges_are_those_of_the_messages_they_name(self):
        """What is left where they are not there, by ``as_of`` or by forgetting, is whole."""
        cut = Segment(number=0, first="m0", start=9, last="m2", end=1)
        held = build_segment_text(cut, [self.MESSAGE])
        assert (held.text, held.sealed) == (render_line(self.MESSAGE), False)


@pytest.mark.parametrize(("length", "overlap"), [(0, 0), (10, 10), (10, -1), (10, 11)])
def test_windows_without_a_token_of_their_own_are_refused(length, overlap):
    with pytest.raises(InvalidInput):
        SegmentSettings(length=length, overlap=overlap)


def test_the_defaults_are_those_of_the_paper():
    assert (SegmentSettings().length, SegmentSettings().overlap, SegmentSettings().stride) == (8192, 1024, 7168)


words = st.text(alphabet=st.sampled_from("ab é🐕東\n.<▁"), max_size=40)
windows = st.integers(12, 90).flatmap(lambda length: st.tuples(st.just(length), st.integers(0, length - 1)))


class TestStream:
    @given(st.lists(words, min_size=1, max_size=8), windows, st.data())
    @settings(max_examples=40)
    def test_streaming_is_the_same_as_a_batch(self, texts, window, data):
        cuts = data.draw(st.sets(st.integers(1, max(1, len(texts) - 1))))
        batch, streamed = asyncio.run(kept(texts, window, ())), asyncio.run(kept(texts, window, cuts))
        assert streamed == batch

    @given(st.lists(words, min_size=1, max_size=8), windows)
    @example(["a " * 200], (30, 20))
    @example(["a"], (12, 11))
    @settings(max_examples=40)
    def test_every_token_is_in_a_segment_and_neighbours_share_the_overlap(self, texts, window):
        length, overlap = window
        segments, _, _, lines = asyncio.run(kept(texts, window, ()))
        at, before = {}, 0
        for id_, line in lines:
            at[id_] = before
            before += count_tokens(line)
        spans = [(at[s.first] + s.start, before if s.last is None else at[s.last] + s.end) for s, _ in segments]
        assert spans[0][0] == 0
        assert spans[-1][1] == before
        for (start, end), (later, _) in pairwise(spans):
            assert end - start == length
            assert end - later == overlap
        assert [held.tokens for _, held in segments] == [end - start for start, end in spans]

    @given(st.lists(words, min_size=1, max_size=8), st.integers(12, 60))
    @settings(max_examples=40)
    def test_without_an_overlap_every_character_is_in_one_segment_alone(self, texts, length):
        segments, _, _, lines = asyncio.run(kept(texts, (length, 0), ()))
        by_id = dict(lines)
        for (one, _), (other, _) in pairwise(segments):
            assert (one.last, one.end) == (other.first, other.start) or other.start == 0
        for id_, line in by_id.items():
            parts = [cut_words(s, m) for s, held in segments for m in held.messages if m.id == id_]
            assert "".join("".join(parts).split()) == "".join(line.partition("A: ")[2].split())


async def kept(texts, window, cuts):
    """What a bank holds of messages that are kept in one call, or in several: segments, summaries, stream, lines."""
    length, overlap = window
    folder, embedder = SqliteFolder(":memory:"), HashEmbedder(8)
    store = await folder.open("b", embedder=embedder.name, dimension=8)
    encoder = TurnEncoder(embedder, settings=EncodeSettings(segments=SegmentSettings(length=length, overlap=overlap)))
    messages = [Message(id=f"m{n}", text=text, speaker="A", at=AT) for n, text in enumerate(texts)]
    edges = sorted({0, *cuts, len(messages)})
    for start, end in pairwise(edges):
        await store.commit(await encoder.encode(messages[start:end], session="s", reader=store, now=AT))
    segments = [(segment, await read_segment(store, segment.number)) for segment in await store.segments()]
    summaries = [entry async for part in store.dump() for entry in part.items if entry.item.id.startswith("summary:")]
    lines = [(message.id, render_line(message)) for message in await store.messages()]
    plain = [(entry.item, entry.vector.tobytes(), entry.terms.tobytes()) for entry in summaries]
    stream = await store.stream()
    await folder.close()
    return segments, plain, stream, lines
