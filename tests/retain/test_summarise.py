"""Extracts: what a segment is about, without a model."""

from datetime import UTC, datetime, timedelta

import numpy as np

from recollect.domain.items import ItemKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.segments import Segment
from recollect.retain.extractive_summary import (
    OPENING,
    SUMMARY_TOKENS,
    Sentence,
    extract_summary,
    index_summaries,
    select_central,
)
from recollect.testing.models import HashEmbedder
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_tokens

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def said(n, text, speaker="Ada", session="s", captions=()):
    return StoredMessage(
        id=f"m{n}",
        session=session,
        position=n,
        speaker=speaker,
        role=Role.USER,
        text=text,
        captions=captions,
        at=AT + timedelta(days=n),
        recorded=AT + timedelta(days=n, hours=1),
    )


def extract(*messages, known=frozenset(), **edges):
    segment = Segment(number=7, first=messages[0].id, last=messages[-1].id, **edges)
    return extract_summary(segment, messages, known)


SHELTER = (
    said(0, "Wow! I adopted a dog called Toby from the shelter in Leeds."),
    said(1, "Nice one.", speaker="Ben"),
    said(2, "The shelter in Leeds has another dog, he plays with Toby all day.", speaker="Ben", session="t"),
    said(3, "Lunch was soup and bread with cheese."),
)


def test_an_extract_says_that_it_is_one_and_who_when_and_of_what():
    text = extract(*SHELTER).text
    assert text.startswith(f"{OPENING}: Ada, Ben; 8 May 2023 to 11 May 2023; ")
    opening = text.partition(". ")[0]
    assert "Toby" in opening
    assert "Leeds" in opening
    assert "Ada: I adopted a dog called Toby from the shelter in Leeds." in text
    assert "Nice one" not in text


def test_an_extract_is_the_summary_of_its_segment():
    item = extract(*SHELTER)
    assert (item.id, item.kind, item.label, item.order) == ("summary:7", ItemKind.SUMMARY, "extractive", 7)
    assert item.sources == ("m0", "m1", "m2", "m3")
    assert (item.session, item.speaker, item.mentioned) == ("s", "", SHELTER[-1].at)
    assert item.recorded == SHELTER[-1].recorded
    assert item.tokens == count_tokens(item.text)


async def test_it_is_found_by_its_own_words():
    item = extract(*SHELTER)
    (entry,) = await index_summaries([item], HashEmbedder())
    assert entry.item == item
    assert entry.terms.tolist() == extract_terms(item.text).tolist()
    assert np.allclose(entry.vector, (await HashEmbedder().embed([item.text]))[0])


def test_only_what_the_segment_holds_of_its_messages_is_quoted():
    words = "Zebras graze beside quiet rivers. Yaks climb over frozen ridges."
    start = count_tokens("[Mon 2023-05-08 13:56] Ada: Zebras graze beside quiet rivers.")
    text = extract(said(0, words), start=start).text
    assert "Yaks climb over frozen ridges." in text
    assert "Zebras" not in text
    assert "Yaks" not in extract(said(0, words), end=start).text


def test_it_keeps_to_its_size_whatever_it_is_made_of():
    long = " ".join(f"word{n}" for n in range(4000))
    crowd = [said(n, f"{long} {n}.", speaker=f"Speaker number {n} " + "x" * 300) for n in range(9)]
    for messages in ([said(0, "x" * 50_000)], [said(n, "Dogs like long walks. " * 30) for n in range(40)]):
        assert extract(*messages).tokens <= SUMMARY_TOKENS
    item = extract(*crowd)
    assert "and 4 more" in item.text
    assert item.tokens <= 2 * SUMMARY_TOKENS


def test_a_segment_without_words_has_an_extract():
    assert extract(said(0, "")).text == f"{OPENING}: Ada; 8 May 2023."


def test_the_same_messages_give_the_same_extract():
    assert extract(*SHELTER) == extract(*SHELTER)


class TestCentral:
    """By hand: terms 1 and 2 are in four sentences, 5 in two, all others in one."""

    DOGS = Sentence(text="dogs", terms=frozenset({1, 2, 3, 4}), tokens=10)
    MORE = Sentence(text="more dogs", terms=frozenset({1, 2, 5, 6}), tokens=10)
    LAST = Sentence(text="dogs again", terms=frozenset({1, 2, 5, 7}), tokens=10)
    SOUP = Sentence(text="soup", terms=frozenset({10, 11, 12, 13}), tokens=10)
    SHORT = Sentence(text="wow", terms=frozenset({1, 2}), tokens=1)

    def chosen(self, tokens):
        return [
            sentence.text
            for sentence in select_central([self.SOUP, self.SHORT, self.DOGS, self.MORE, self.LAST], tokens)
        ]

    def test_what_is_said_most_comes_first(self):
        """MORE and LAST weigh (2 + 2 + sqrt(2) + 1) / sqrt(4) = 3.2, DOGS (2 + 2 + 1 + 1) / 2 = 3."""
        assert self.chosen(10) == ["more dogs"]

    def test_what_was_said_is_nothing_new(self):
        """After MORE, SOUP weighs 4 / 2, DOGS 2 / 2 and LAST 1 / 2. They are given in the order of the segment."""
        assert self.chosen(20) == ["soup", "more dogs"]
        assert self.chosen(30) == ["soup", "dogs", "more dogs"]

    def test_no_room_is_no_sentence(self):
        assert self.chosen(9) == []
        assert self.chosen(-5) == []

    def test_words_of_no_substance_are_left_out(self):
        assert select_central([self.SHORT], 100) == []
