"""Quotes are held against the segment character by character, whitespace folded (equation 6)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.items import ItemKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.segments import Segment
from recollect.methods.emem.quotes import FoldedText, drop_known, render_segment, sort_quotes, verify_quotes
from recollect.methods.emem.segment_view import make_view, split_lines
from recollect.retain.segments import build_segment_text

AT = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)


def message(n, text, *, speaker="Ada", captions=()):
    return StoredMessage(
        id=f"m{n}",
        session="s",
        position=n,
        speaker=speaker,
        role=Role.USER,
        text=text,
        captions=captions,
        at=AT + timedelta(minutes=n),
        recorded=AT,
    )


def reading(*texts, number=3):
    messages = [message(n, text, speaker="Ada" if n % 2 == 0 else "Bob") for n, text in enumerate(texts)]
    return make_view(number, split_lines(build_segment_text(Segment(number=number, first="m0"), messages)))


def quotes_in(segment, *words):
    return verify_quotes([(one, " what it shows ") for one in words], segment)


def test_a_quote_knows_its_message_its_speaker_and_its_time():
    ((quote,), dropped) = quotes_in(reading("Hello there.", "I moved from\nSweden."), "moved from Sweden")
    assert dropped == 0
    assert (quote.id, quote.kind, quote.segment) == ("segment:3", ItemKind.SEGMENT, 3)
    assert (quote.speaker, quote.at, quote.messages) == ("Bob", AT + timedelta(minutes=1), ("m1",))
    assert (quote.words, quote.shows) == ("moved from\n    Sweden", "what it shows")


def test_a_quote_over_two_messages_is_of_both():
    ((quote,), _) = quotes_in(reading("Where from?", "Sweden."), "Where from? [Wed 2024-05-01 09:31] Bob: Sweden.")
    assert (quote.messages, quote.speaker) == (("m0", "m1"), "Ada")


@pytest.mark.parametrize(
    "words",
    [
        "I moved from Sweden",
        "  I  moved\n\tfrom Sweden  ",
        "I moved\u00a0from Sweden",
        "[Wed 2024-05-01 09:30] Ada: I moved from Sweden, naïve as I was: “so it goes” 🙂.",
    ],
)
def test_whitespace_is_folded(words):
    quotes, dropped = quotes_in(reading("I moved from Sweden, naïve as I was: “so it goes” 🙂."), words)
    assert (len(quotes), dropped) == (1, 0)


@pytest.mark.parametrize(
    "words",
    [
        "I moved from Norway",
        "i moved from Sweden",
        "I moved from Sweden!",
        "naive as I was",
        '"so it goes"',
        "I movedfrom Sweden",
        "I moved ... Sweden",
        "",
        " \n",
    ],
)
def test_a_changed_character_is_dropped_and_counted(words):
    quotes, dropped = quotes_in(reading("I moved from Sweden, naïve as I was: “so it goes”."), words)
    assert (quotes, dropped) == ((), 1)


def test_good_quotes_stay_where_others_are_dropped():
    quotes, dropped = quotes_in(reading("I moved from Sweden."), "moved", "made up", "Sweden", "this too")
    assert ([quote.words for quote in quotes], dropped) == (["moved", "Sweden"], 2)


def test_a_quote_is_what_was_shown_where_tags_are_made_harmless():
    segment = reading("Look: </segment> and then <b>bold</b>.")
    assert render_segment(segment).count("</segment>") == 1
    quotes, dropped = quotes_in(segment, "Look: ‹/segment> and then")
    assert ([quote.words for quote in quotes], dropped) == (["Look: </segment> and then"], 0)


def test_what_stands_in_the_overlap_is_told_once():
    ((first,), _) = quotes_in(reading("I moved from Sweden.", number=1), "from Sweden")
    ((twin,), _) = quotes_in(reading("I moved from Sweden.", number=2), "from\nSweden")
    assert drop_known([first, twin]) == (first,)
    assert drop_known([twin], [first]) == ()


def test_quotes_are_read_segment_by_segment_and_later_ones_later():
    late, early = quotes_in(reading("one", "two", number=4), "two", "one")[0]
    (before,), _ = quotes_in(reading("three", number=2), "three")
    assert sort_quotes([late, early, before]) == (before, early, late)


WORDS = st.text(alphabet="ab é\n\t\u00a0\u2003", max_size=40)


@given(WORDS, st.data())
def test_any_piece_of_a_text_is_found_in_it_and_is_the_same_but_for_whitespace(text, data):
    start = data.draw(st.integers(0, len(text)))
    piece = text[start : data.draw(st.integers(start, len(text)))]
    span = FoldedText(text).find_span(piece)
    if not piece.strip():
        assert span is None
    else:
        assert "".join(text[slice(*span)].split()) == "".join(piece.split())
        assert " ".join(text[slice(*span)].split()) == " ".join(piece.split())


def test_every_line_is_its_messages_own():
    head = "[Wed 2024-05-01 09:30] Bob:"
    texts = [f"one\n\ntwo {head} not a head", "", f"{head} nor this", "x\r\ny\x85z"]
    segment = reading(*texts)
    assert [passage.message.id for passage in segment.passages] == ["m0", "m1", "m2", "m3"]
    assert segment.text == build_segment_text(Segment(number=3, first="m0"), [p.message for p in segment.passages]).text
    own = "[Wed 2024-05-01 09:31] Bob: \n[Wed 2024-05-01 09:33] Bob: x\n    y\n    z\n"
    assert segment.restrict_to({"m1", "m3"}).text == own


def test_a_cut_message_has_its_line_too():
    messages = [message(0, "a b c d e f g h i j k l"), message(1, "m n o p q r s t u v w x")]
    text = build_segment_text(Segment(number=0, first="m0", start=24, last="m1", end=24), messages)
    lines = split_lines(text)
    assert [one.id for one, _ in lines] == ["m0", "m1"]
    assert lines[0][1].startswith("[Wed 2024-05-01 09:30] Ada: ... ")
    assert "".join(line for _, line in lines) == text.text


def test_what_nobody_has_dated_says_so_by_saying_nothing_and_comes_first():
    (dated,), _ = quotes_in(reading("I met Toby."), "I met Toby.")
    undated = replace(dated, at=None)
    assert sort_quotes([dated, undated]) == (undated, dated)
    assert undated.render(2) == "[2] (said by Ada) I met Toby."
    assert replace(undated, speaker="").render(2) == "[2] I met Toby."
