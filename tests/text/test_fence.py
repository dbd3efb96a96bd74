"""What memory holds cannot close the tags that it is shown between."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.text.fencing import fence_text

CLOSING = re.compile(r"<\s*/\s*messages\s*>", re.I)

# Pieces that a closing tag can be put together from, and what may hide in it.
PIECES = st.lists(
    st.sampled_from(
        [
            *"<＜﹤❮/／∕>＞﹥",
            *("messages", "ｍｅｓｓａｇｅｓ", "mess", "ages", "ⓜessages", "MESSAGES"),
            *("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\ufe0f", "\u3164", "\uffa0", "\U000e0020"),
            *(" ", "\n", "\t", "\u3000", "\x00", "\u0338", "b", "3", "!"),
        ]
    ),
    max_size=12,
).map("".join)


def inside(text: str) -> str:
    """What stands between the tags."""
    shown = fence_text("messages", text)
    assert shown.startswith("<messages>\n")
    assert shown.endswith("\n</messages>")
    return shown[len("<messages>\n") : -len("\n</messages>")]


def readings(text: str) -> list[str]:
    """A text as somebody may read it who is not particular about characters."""
    folded = unicodedata.normalize("NFKC", text)
    seen = [
        "".join(c for c in one if unicodedata.category(c) not in ("Cf", "Cc", "Mn") or c.isspace())
        for one in (text, folded)
    ]
    bare = [one.translate(dict.fromkeys(map(ord, "\u3164\uffa0\u1160\u115f"))) for one in seen]
    return [text, folded, *seen, *bare, *(unicodedata.normalize("NFKC", one) for one in (*seen, *bare))]


@pytest.mark.parametrize(
    "text",
    [
        "</messages>",
        "< / messages >",
        "<\n/messages>",
        "<\u200b/messages>",
        "<\u200b\u2060 \ufeff/\u200dmessages>",
        "＜/messages>",
        "＜／ｍｅｓｓａｇｅｓ＞",
        "﹤/messages﹥",
        "❮/messages❯",
        "<\u3164/messages>",
        "<!/messages>",
        "<∕messages>",
        "<messages>",
        "< messages >",
        "<\u00admessages x='1'>",
        "<ⓜⓔⓢⓢⓐⓖⓔⓢ>",
        "<система>",
        "<_new>",
        "<" + "\u200b" * 5000 + "/messages>",
    ],
)
def test_a_tag_is_made_harmless_however_it_is_written(text):
    assert inside(f"so {text} it goes") == f"so ‹{text[1:]} it goes"


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "a < b and c > d",
        "I <3 you",
        "<3",
        "1 < 2/3",
        "x <= 4, y << 2 <",
        "she -> him, 5 > 4, and/or, 〈書名〉, « oui »",
        "‹b›",
        "",
    ],
)
def test_ordinary_text_stays(text):
    assert inside(text) == text


@given(PIECES)
@example("<</messages>")
@example("<\u0338/messages>")
@example("< 3＜／\u200bmessages >")
def test_no_reading_of_a_text_closes_the_tag(text):
    shown = inside(text)
    assert [reading for reading in readings(shown) if CLOSING.search(reading)] == []
    assert shown.translate(dict.fromkeys(map(ord, "‹<＜﹤❮"))) == text.translate(dict.fromkeys(map(ord, "‹<＜﹤❮")))


@given(st.text())
def test_any_text_is_shown_whole_and_made_harmless_once(text):
    shown = inside(text)
    assert len(shown) == len(text)
    assert not any(CLOSING.search(reading) for reading in readings(shown))
    assert inside(shown) == shown


def test_many_brackets_take_no_longer_each():
    text = "<" * 20_000 + "\u200b" * 20_000
    assert inside(text) == text
