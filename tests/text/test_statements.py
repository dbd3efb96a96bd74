"""Statements that are structured already: what is taken, exactly, and what is left alone."""

import json
from datetime import UTC, timedelta, timezone
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.time import Precision
from recollect.domain.triples import Triple
from recollect.text.statements import statements
from recollect.text.when.iso import read_date


def on(text):
    return None if text is None else read_date(text, UTC)


def triple(subject, predicate, object_, start=None, end=None):
    return Triple(subject=subject, predicate=predicate, object=object_, start=on(start), end=on(end))


@pytest.mark.parametrize(
    ("when", "start", "end"),
    [
        ("from 1980 to 1984", "1980", "1984"),
        ("from 1980 until 1984", "1980", "1984"),
        ("in 1982", "1982", "1982"),
        ("in May 1982", "1982-05", "1982-05"),
        ("since 1990", "1990", None),
        ("from 1990 on", "1990", None),
        ("from 1990 onwards", "1990", None),
        ("until 1984", None, "1984"),
        ("from 5 May 1980 to June 1984", "1980-05-05", "1984-06"),
        ("from May 5th, 1980 to the 6th of June 1984", "1980-05-05", "1984-06-06"),
        ("between 1980 and 1984", "1980", "1984"),
        ("(1980-1984)", "1980", "1984"),
        ("(1980–1984)", "1980", "1984"),
        ("(2020-01 to 2020-03)", "2020-01", "2020-03"),
        ("(1980 – present)", "1980", None),
        ("(1980-)", "1980", None),
        ("(1980)", "1980", "1980"),
        ("(2020-05)", "2020-05", "2020-05"),
        ("on 2020-01-15", "2020-01-15", "2020-01-15"),
        ("on 2020-01-15T10:30", "2020-01-15T10:30", "2020-01-15T10:30"),
        ("from March 1980 to now", "1980-03", None),
        ("from 1984 to 1984", "1984", "1984"),
    ],
)
def test_times_are_as_exact_as_they_are_written(when, start, end):
    expected = (triple("E92", "was the R17 of", "E69", start, end),)
    assert statements(f"E92 was the R17 of E69 {when}.", UTC) == expected
    assert statements(f"E92 was the R17 of E69 {when}", UTC) == expected
    assert statements(f"- E92 was the R17 of E69, {when}.", UTC) == expected


def test_a_time_may_stand_before_all_else():
    assert statements("In 1980, E92 became the R17 of E69.", UTC) == (
        triple("E92", "became the R17 of", "E69", "1980", "1980"),
    )
    assert statements("From 1980 to 1984, E92 was the R17 of E69.", UTC) == (
        triple("E92", "was the R17 of", "E69", "1980", "1984"),
    )


def test_times_are_of_the_zone_of_whoever_says_them():
    zone = timezone(timedelta(hours=5))
    (found,) = statements("E1 was the R1 of E2 in 1982.", zone)
    assert found.start == found.end == read_date("1982", zone)
    assert found.start.precision is Precision.YEAR


@pytest.mark.parametrize(
    ("sentence", "phrases"),
    [
        ("Marie Curie worked at Sorbonne", ("Marie Curie", "worked at", "Sorbonne")),
        ("Marie Curie worked at the Sorbonne", ("Marie Curie", "worked at", "Sorbonne")),
        ("Alan Turing was a fellow of King's College", ("Alan Turing", "was a fellow of", "King's College")),
        ("Ada Byron was the Chancellor of Leeds", ("Ada Byron", "was the Chancellor of", "Leeds")),
        ("Ada Byron was elected President of France", ("Ada Byron", "was elected President of", "France")),
        (
            "J. R. R. Tolkien taught at the University of Oxford",
            ("J. R. R. Tolkien", "taught at", "University of Oxford"),
        ),
        ("Dr. Smith lived in New York", ("Dr. Smith", "lived in", "New York")),
        ("Victoria became Queen", ("Victoria", "became", "Queen")),
        ("Albert married Victoria", ("Albert", "married", "Victoria")),
        ("Ada bought a Toyota", ("Ada", "bought", "Toyota")),
        ("Ada never-endingly was Ben", None),
        ("Ludwig van Beethoven lived in Vienna", ("Ludwig van Beethoven", "lived in", "Vienna")),
        ("Neil Armstrong commanded Apollo 11", ("Neil Armstrong", "commanded", "Apollo 11")),
        ("Éva Nagy studied under Pál Erdős", ("Éva Nagy", "studied under", "Pál Erdős")),
        ("entity_1 was relation_2 of entity_3", ("entity_1", "was relation_2 of", "entity_3")),
        ("Ada did not work at Google", ("Ada", "did not work at", "Google")),
    ],
)
def test_relations_with_real_names(sentence, phrases):
    expected = () if phrases is None else (triple(*phrases, "1906", "1934"),)
    assert statements(f"{sentence} from 1906 to 1934.", UTC) == expected


def test_triples_that_are_written_as_such():
    stated = ("E95", "was the R11 of", "E57")
    line = "(E95, was the R11 of, E57) [start_time: 2020-01-15; end_time: 2022-03-20]"
    assert statements(line, UTC) == (triple(*stated, "2020-01-15", "2022-03-20"),)
    line = "(E95, was the R11 of, E57) [point_in_time: 15 March 2020]"
    assert statements(line, UTC) == (triple(*stated, "2020-03-15", "2020-03-15"),)
    assert statements("(Ada, owner of, Toby) [start_time: 2020]", UTC) == (triple("Ada", "owner of", "Toby", "2020"),)
    assert statements("(E95, was the R11 of, E57)", UTC) == (triple(*stated),)
    assert statements("E95 | was the R11 of | E57 | 2020 | 2022-03", UTC) == (triple(*stated, "2020", "2022-03"),)
    assert statements("a dog | bites | the cat | | 2022", UTC) == (triple("a dog", "bites", "the cat", None, "2022"),)


def test_a_text_may_hold_many():
    text = """Here is what is known:

    E92 was the R17 of E69 from 1980 to 1984. E93 was the R17 of E69 since 1985.
    1. E3 was the R2 of E1 until 1990.
    (E3, was the R2 of, E4) [start_time: 1991]
    """
    assert statements(text, UTC) == (
        triple("E92", "was the R17 of", "E69", "1980", "1984"),
        triple("E93", "was the R17 of", "E69", "1985"),
        triple("E3", "was the R2 of", "E1", None, "1990"),
        triple("E3", "was the R2 of", "E4", "1991"),
    )
    table = "| subject | predicate | object | start | end |\n|---|---|---|---|---|\n| Ada | owns | Toby | 2020 | |"
    assert statements(table, UTC) == (triple("Ada", "owns", "Toby", "2020"),)


def test_what_contradicts_itself_is_told_twice():
    text = "E1 was the R1 of E2 in 1980.\nE1 was the R1 of E2 in 1981.\nE1 was the R1 of E2 in 1980."
    assert [found.start for found in statements(text, UTC)] == [on("1980"), on("1981"), on("1980")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "In 2010.",
        "2010",
        "I worked at Google from 2010 to 2015.",
        "We moved to Leeds in 2010.",
        "My sister married Ben in 2010.",
        "The Beatles played at Shea Stadium in 1965.",
        "Remember Toby was born in Leeds in 2010.",
        "Moved house to Leeds in 2010.",
        "Joined Google as Engineer in 2010.",
        "Built sheds at Leeds in 2010.",
        "Leeds is nice in 2010.",
        "Ada was happy in 2010.",
        "Did Ada work at Google in 2010?",
        "Ada worked at Google in 2010!",
        "Ada worked at Google.",
        "Ada worked at Google for 3 years.",
        "Ada worked at Google last year (2010).",
        "Ada worked at Google from 2010.",
        "Ada worked at Google before 2010.",
        "Ada worked at Google in May.",
        "Ada worked at Google in 10.",
        "Ada and Ben worked at Google in 2010.",
        "Ada worked at Google and Amazon in 2010.",
        "Ada worked and lived in Leeds in 2010.",
        "Ada met her husband in Leeds in 2010.",
        "Ada met Ben in London in 2010.",
        "Ada bought a red Toyota in 2010.",
        "Ben moved from London to Leeds in 2010.",
        "Ada, who was ill, worked at Google in 2010.",
        "Ada's dog was born in Leeds in 2010.",
        "Ada's boss was the head of Acme in 2010.",
        "James' boss was the head of Acme in 2010.",
        "Ada’s boss was the head of Acme in 2010.",
        "Apple products were the pride of Acme in 2010.",
        "Leeds offices belonged to Acme in 2010.",
        "Ada said Ben worked at Google in 2010.",
        "Ada worked at Google in 2010, and Ben was born in Leeds in 2011.",
        "E1 was the R2 of E3 from 1984 to 1980.",
        "E1 was the R2 of E3 on 30 February 1980.",
        "E1 was the R2 of E3 (1980-84).",
        "E1 was the R2 of E3 from 1980 to 1984. How are you, 2 of you.",
        "So I said: E1 was the R2 of E3 from 1980 to 1984.",
        "E1 was the R2 of E3 from 1980 to 1984. Nice to know.",
        "E1 was the R2 of E3 from 1980 to 1984. Who was the R2 of E3?",
        "(Ada, owner of, Toby)",
        "(2 eggs, milk, bread)",
        "(E1, was the R2, of, E3) [start_time: 1980]",
        "(E1, was the R2 of, E3) [record_time: 1980]",
        "(E1, was the R2 of, E3) [point_in_time: 1980; end_time: 1981]",
        "(E1, was the R2 of, E3) [start_time: 1980; start_time: 1981]",
        "(E1, was the R2 of, E3) [start_time: soon]",
        "(E1, , E3) [start_time: 1980]",
        "Ada | owns | Toby | |",
        "Ada | owns | Toby | 3 | 4",
        "Ada | owns | 2020",
    ],
)
def test_what_may_be_read_otherwise_is_left_alone(text):
    assert statements(text, UTC) == ()


def test_an_ordinary_conversation_holds_none():
    lines = files("recollect.sample").joinpath("conversation.jsonl").read_text(encoding="utf-8").splitlines()
    said = [json.loads(line).get("text", "") for line in lines]
    assert len(said) > 20
    assert [text for text in said if statements(text, UTC)] == []


@given(st.text(alphabet="E12 was R of|()[]:;,.-–\nAdain905", max_size=60))
def test_it_never_raises_and_what_it_takes_is_whole(text):
    for found in statements(text, UTC):
        assert all(any(map(str.isalnum, phrase)) for phrase in (found.subject, found.predicate, found.object))
        assert found.subject in " ".join(text.split())


def test_a_long_text_is_read_in_passing():
    text = "\n".join(f"E{n} was the R1 of E{n + 1} from 1980 to 1984." for n in range(3000))
    assert len(statements(text, UTC)) == 3000
    assert statements("E1 was " + "in 1980 " * 20_000, UTC) == ()
    assert statements("Ada " * 50_000 + "1980", UTC) == ()


@pytest.mark.parametrize(
    "text",
    [
        "A." * 60 + "A! was the 1 of E2 in 1980",
        "E1 was the R1 of " + "S.O.S." * 40 + "! in 1980",
        "-" * 200_000 + "|1",
        "| " * 100_000 + "-1",
        "(" + "a, " * 100_000 + ") 1",
        ". " * 100_000 + "1",
    ],
)
def test_what_is_built_to_be_read_in_many_ways_is_read_in_passing(text):
    assert statements(text, UTC) == ()


def test_initials_may_be_many():
    (found,) = statements(f"{'A.' * 30} was the R1 of E2 from 1980 to 1984.", UTC)
    assert found == triple("A." * 30, "was the R1 of", "E2", "1980", "1984")
