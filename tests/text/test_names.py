"""Hand-checked names; every sentence here was written for this table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.entities import EntityKind
from recollect.text.names import find_names

FOUND = [
    ("We climbed Mount Hood in spring", ["Mount Hood"]),
    ('My niece adores "Charlotte\'s Web" now', ["Charlotte's Web"]),
    ("My niece adores Charlotte's Web now", ["Charlotte's Web"]),
    ("He studied at the University of Leeds before", ["University of Leeds"]),
    ("The wedding was at St. Mary's in June", ["St. Mary's"]),
    ('Their new song is "Nothing is Impossible".', ["Nothing is Impossible"]),
    ("We read “Little Women” aloud", ["Little Women"]),
    ("I joined an LGBTQ choir", ["LGBTQ"]),
    ("NASA hired her", ["NASA"]),
    ("Ask @ada_l about it", ["@ada_l"]),
    ("Mail ada@example.org about it", []),
    ("My cousin is Jean-Luc these days", ["Jean-Luc"]),
    ("I met Sinéad O'Brien there", ["Sinéad O'Brien"]),
    ("Yesterday Ángela moved to Łódź with Émile", ["Ángela", "Łódź", "Émile"]),
    ("I like J. K. Rowling and J.R.R. Tolkien", ["J. K. Rowling", "J.R.R. Tolkien"]),
    ("They named it after John F. Kennedy.", ["John F. Kennedy"]),
    ("The meeting is in Room 101 today", ["Room 101"]),
    ("I write it in Python 3 and love it", ["Python 3"]),
    ("My iPhone 15 broke", ["iPhone 15"]),
    ("iPhone screens break", ["iPhone"]),
    ("I was with Toby 2 days ago", ["Toby"]),
    ("I saw Toby 3 times", ["Toby"]),
    ("We fly to Paris and Rome", ["Paris", "Rome"]),
    ("Hey Nate, what's up", ["Nate"]),
    ("Thanks Mel! You are kind", ["Mel"]),
    ("Last Friday I met Zoë's brother", ["Zoë"]),
    ("I went to see Toby. Toby is fine.", ["Toby", "Toby"]),
    ("Toby is fine. I went to see Toby.", ["Toby", "Toby"]),
    ("Dr. Smith called", ["Dr. Smith"]),
    ("Our teacher is Mrs. Jones", ["Mrs. Jones"]),
    ("We stayed near Lake Tahoe", ["Lake Tahoe"]),
    ("Lake Tahoe is cold", ["Lake Tahoe"]),
    ("New York is loud", ["New York"]),
    ("Visiting Paris was great", ["Paris"]),
    ("I read The Hobbit twice", ["The Hobbit"]),
    ("The Hobbit is short", ["Hobbit"]),
    ("I rewatched Lord of the Rings", ["Lord of the Rings"]),
    ("He works for AT&T now", ["AT&T"]),
    ("We ate Ben & Jerry's again", ["Ben & Jerry"]),
    ("She lives in the U.S. with him", ["U.S."]),
    ("During COVID-19 we baked", ["COVID-19"]),
    ("LeBron scored", ["LeBron"]),
    ("I use YouTube daily", ["YouTube"]),
    ("Is that the Spanish-speaking group", []),
    ("an LGBTQ-friendly café", ["LGBTQ"]),
    ("My boss (Ana) agrees", []),
    ("My boss, Ana, agrees", ["Ana"]),
    ("We walked through Stratford", ["Stratford"]),
    ("He plays for the Minnesota Wolves", ["Minnesota Wolves"]),
    ("The painter Vincent van Gogh lived there", ["Vincent van Gogh"]),
    ("We love Under Armour shoes", ["Under Armour"]),
    ("Дорогой друг, я видел Анну вчера", ["Анну"]),
]
NOTHING = [
    "",
    "It's great! Keep going. Family matters.",
    "WOW, that is SO cool",
    "GOOD JOB EVERYONE",
    "I LOVE it",
    "OK. Haha! Yeah, sure.",
    "Congrats! Well done",
    "On Monday, in July, I'll rest",
    "I'm here. I've been there. I'd go.",
    "Running helps. Dance helps too.",
    "- Buy milk\n- Call home",
    "😊 Thanks so much 🎉 Great news",
    '"Just do it," he said. "Keep it up!"',
    "Self-care is key",
    "a b c 1 2 3",
    "今日はとても暑いです",
    "مرحبا كيف حالك",
    "So did I. Then we left.",
    "What? No! Why... Because.",
    "See you at 5 PM, Thursday",
]


@pytest.mark.parametrize(("text", "names"), FOUND)
def test_finds_names(text: str, names: list[str]) -> None:
    assert [name.text for name in find_names(text)] == names


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text: str) -> None:
    assert find_names(text) == ()


@pytest.mark.parametrize(
    ("text", "speakers", "names"),
    [
        ("Melanie, look!", ["Melanie"], ["Melanie"]),
        ("Melanie's dog barks", ["Melanie"], ["Melanie"]),
        ("Ada was here", ["Ada Lovelace"], ["Ada"]),
        ("I drove Maria's Toyota", ["Maria"], ["Maria", "Toyota"]),
        ("MARIA! COME HERE NOW", ["Maria"], ["MARIA"]),
        ("Will you come?", ["Will"], []),
        ("Hey Will, come!", ["Will"], ["Will"]),
        ("User is the word. The User", ["user"], ["User", "User"]),
        ("the user said", ["user"], []),
        ("昨日田中さんに会った", ["田中"], ["田中"]),
        ("tell ada99 and bada99", ["ada99"], ["ada99"]),
    ],
)
def test_speakers(text: str, speakers: list[str], names: list[str]) -> None:
    assert [name.text for name in find_names(text, speakers)] == names


def test_known_names_open_sentences() -> None:
    assert find_names("Toby sleeps") == ()
    assert [name.text for name in find_names("Toby sleeps", (), {"toby"})] == ["Toby"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I saw Dr. Adeyemi", EntityKind.PERSON),
        ("I saw Aunt Mary", EntityKind.PERSON),
        ("we saw Lord of the Rings", EntityKind.OTHER),
        ("lunch with my friend Priya", EntityKind.PERSON),
        ("a man named Samuel", EntityKind.PERSON),
        ("we hiked Mount Hood", EntityKind.LOCATION),
        ("picnic in Hyde Park", EntityKind.LOCATION),
        ("I moved to Sweden", EntityKind.LOCATION),
        ("I gave it to Sweden", EntityKind.OTHER),
        ("she lives in Galway", EntityKind.LOCATION),
        ("he left Acme Inc. early", EntityKind.ORGANIZATION),
        ("the University of Leeds", EntityKind.ORGANIZATION),
        ("at Mercy Hospital", EntityKind.ORGANIZATION),
        ('we saw "Becoming Nicole"', EntityKind.PRODUCT),
        ("the iPhone", EntityKind.PRODUCT),
        ("we had a Dutch lunch", EntityKind.OTHER),
    ],
)
def test_kinds(text: str, kind: EntityKind) -> None:
    (name,) = find_names(text)
    assert name.kind is kind


def test_a_speaker_is_a_person() -> None:
    assert [name.kind for name in find_names("I moved to Paris", ["Paris"])] == [EntityKind.PERSON]


def test_span_is_where_the_name_stands() -> None:
    text = "Hey Nate, Maria's dog at the University of Leeds — Łódź 😊 Oslo"
    names = find_names(text, ["Maria"])
    assert [text[slice(*name.span)] for name in names] == [name.text for name in names]
    assert [name.text for name in names] == ["Nate", "Maria", "University of Leeds", "Łódź"]


@given(st.text(st.characters(), max_size=200), st.lists(st.text(st.characters(), max_size=8), max_size=3))
def test_any_text_is_read(text: str, speakers: list[str]) -> None:
    names = find_names(text, speakers)
    assert all(text[slice(*name.span)] == name.text for name in names)
    ends = [0, *(name.span[1] for name in names)]
    assert all(name.span[0] >= end for name, end in zip(names, ends, strict=False))


_PIECES = st.sampled_from(
    "Ada|ada|J.| |  |'s|\"|“|”|.|-|&|of|the|I|THE|3|@|\n|Ł|\0|\ud800|😊|St.|King|Hey|,".split("|")
)


@given(st.lists(_PIECES, max_size=40))
def test_any_pieces_are_read(pieces: list[str]) -> None:
    text = "".join(pieces)
    for name in find_names(text, ["Ada", "J", "hey", ""]):
        assert text[slice(*name.span)] == name.text
        assert name.text.strip() == name.text != ""
