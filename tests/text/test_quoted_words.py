"""What counts as a quote of a forgotten text, and what is a common word."""

import pytest

from recollect.text.quotes import Quotes, cut_quotes, list_words, make_quotes

SAID = "My PIN is 90417355, and my lover is Xavier Quintrell."


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        "Ada said: my pin is 90417355 and MY LOVER is xavier quintrell",
        "her lover is XAVIER  —  Quintrell!",
        "the number 90417355",
        "Xavier Quintrell's dog",
        "Mr. Xavier\nQuintrell",
        "90417355",
        "her lover, Xavier Quintrell",
        "Xávier Quintrell",
        "Ｘａｖｉｅｒ Ｑｕｉｎｔｒｅｌｌ",  # wide letters, which NFKC makes plain
    ],
)
def test_a_quote_is_found_however_it_is_spelled(text):
    assert make_quotes([SAID]).is_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ada likes her lover.",
        "the lover of Ada has a PIN",
        "a pin, and then a lover",
        "\0\0\0",
        "it is my, and I am",
    ],
)
def test_single_common_words_are_no_quote(text):
    assert not make_quotes([SAID]).is_in(text)


@pytest.mark.parametrize(
    ("said", "text", "quoted"),
    [
        ("I sold the red van", "Ada sold her red van to Bram", True),
        ("I sold the red van", "Ada has a red van", False),
        ("red van", "Ada has a red van", True),
        ("van", "Ada has a red van", False),
        ("we met in 2023", "in 2023 Ada met Bram", False),
        ("it is room 4711", "4711", True),
        ("login: zx81b", "the login zx81b", True),
        ("I love the Hague", "The Hague is in Holland", True),
        ("昨日は病院へ行きました", "アダは昨日は病院へ行った", True),
        ("昨日は病院へ行きました", "病気", False),
    ],
)
def test_what_is_telling(said, text, quoted):
    assert make_quotes([said]).is_in(text) is quoted


def test_what_stays_says_the_same_is_no_quote():
    quotes = make_quotes([SAID]).remove_found_in(["Xavier Quintrell called.", "I forgot 90417355"])
    assert not quotes.is_in("Xavier Quintrell, 90417355")
    assert quotes.is_in("PIN is 90417355 and the lover")


def test_a_text_of_a_model_must_be_quoted_at_length():
    told = "Ada said that she lost her old job at the bakery in Leeds"
    assert make_quotes([], [told]).is_in(told)
    assert not make_quotes([], [told]).is_in("Ada said that she lost her keys")
    assert not make_quotes([], ["Ada likes tea"]).is_in("Ada likes tea")


def test_names_count_as_a_whole():
    quotes = make_quotes([], names=["Toby the Great", "will", ""])
    assert quotes.is_in("it was toby, the great")
    assert not quotes.is_in("Toby will come")


def test_sentences_that_quote_are_cut():
    quotes = make_quotes([SAID])
    text = "I am kind. Ada's PIN is 90417355! I like tea."
    assert cut_quotes(text, quotes) == "I am kind. I like tea."
    assert cut_quotes("I know Xavier. Quintrell too", quotes) == ""
    assert cut_quotes("nothing of it", quotes) == "nothing of it"


def test_no_quotes_are_found_nowhere():
    assert not Quotes()
    assert Quotes().find_in(SAID) == set()
    assert make_quotes(["", "the", "\0"]).find_in("the") == set()
    assert list_words("Zoe\u0308's José") == ["zoe", "jose"]
