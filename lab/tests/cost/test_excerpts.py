import pytest

from recollect.text.fencing import fence_text
from recollect_lab.cost.excerpts import (
    ShownEntry,
    ShownMessage,
    clip_words,
    compute_share,
    find_content_words,
    parse_messages,
    split_entries,
    split_sections,
    split_sentences,
)

TALK = (
    "[1] (person) Ada, Monday, 8 May 2023, 14:10: Hello: there\n    again\n[2] Bram, Tuesday, 9 May 2023, 9:05: [a cat]"
)


def test_sections_are_found_by_their_tags():
    text = f"{fence_text('notes', 'none yet')}\n\n{fence_text('messages', TALK)}\n\nAbout 2 facts."
    assert split_sections(text) == {"notes": "none yet", "messages": TALK}


def test_entries_hold_all_their_lines():
    assert split_entries("[1] one\n    more\n[12] two [3] still") == (
        ShownEntry(number=1, text="one\n    more"),
        ShownEntry(number=12, text="two [3] still"),
    )
    assert split_entries("none yet") == split_entries("") == ()


def test_messages_are_read_with_who_said_them_and_when():
    assert parse_messages(TALK) == (
        ShownMessage(number=1, speaker="Ada", moment="Monday, 8 May 2023, 14:10", words="Hello: there\n    again"),
        ShownMessage(number=2, speaker="Bram", moment="Tuesday, 9 May 2023, 9:05", words="[a cat]"),
    )
    with pytest.raises(ValueError, match="this is not a message: 'a fact'"):
        parse_messages("[1] a fact")


def test_texts_are_cut_at_words_and_sentences():
    assert clip_words("one  two\nthree", 2) == "one two"
    assert split_sentences("Hi! I am 5. Is it?\n...\nYes") == ["Hi!", "I am 5.", "Is it?", "Yes"]


def test_shares_are_of_content_words():
    assert find_content_words("The dog and the cats") == {"dog", "cats"}
    assert compute_share("the dog barked", {"dog", "cat"}) == 0.5
    assert compute_share("it is", {"dog"}) == 0.0
