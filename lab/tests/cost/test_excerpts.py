import pytest

from recollect.text.fence import fenced
from recollect_lab.cost.excerpts import (
    Said,
    Shown,
    clipped,
    content_words,
    entries,
    messages,
    sections,
    sentences,
    share_in,
)

TALK = (
    "[1] (person) Ada, Monday, 8 May 2023, 14:10: Hello: there\n    again\n[2] Bram, Tuesday, 9 May 2023, 9:05: [a cat]"
)


def test_sections_are_found_by_their_tags():
    text = f"{fenced('notes', 'none yet')}\n\n{fenced('messages', TALK)}\n\nAbout 2 facts."
    assert sections(text) == {"notes": "none yet", "messages": TALK}


def test_entries_hold_all_their_lines():
    assert entries("[1] one\n    more\n[12] two [3] still") == (
        Shown(number=1, text="one\n    more"),
        Shown(number=12, text="two [3] still"),
    )
    assert entries("none yet") == entries("") == ()


def test_messages_are_read_with_who_said_them_and_when():
    assert messages(TALK) == (
        Said(number=1, speaker="Ada", moment="Monday, 8 May 2023, 14:10", words="Hello: there\n    again"),
        Said(number=2, speaker="Bram", moment="Tuesday, 9 May 2023, 9:05", words="[a cat]"),
    )
    with pytest.raises(ValueError, match="nothing that somebody said: 'a fact'"):
        messages("[1] a fact")


def test_texts_are_cut_at_words_and_sentences():
    assert clipped("one  two\nthree", 2) == "one two"
    assert sentences("Hi! I am 5. Is it?\n...\nYes") == ["Hi!", "I am 5.", "Is it?", "Yes"]


def test_shares_are_of_content_words():
    assert content_words("The dog and the cats") == {"dog", "cats"}
    assert share_in("the dog barked", {"dog", "cat"}) == 0.5
    assert share_in("it is", {"dog"}) == 0.0
