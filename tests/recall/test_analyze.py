"""What a question asks for: whom, when, and in which words."""

from datetime import UTC, datetime

import numpy as np
import pytest

from recollect.domain.queries import Query
from recollect.recall.analyze import build_probe, parse_question
from recollect.testing.models import HashEmbedder
from recollect.text.terms import extract_terms

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)


def read(text, *speakers):
    return parse_question(Query(text=text, now=NOW), speakers)


@pytest.mark.parametrize(
    ("text", "speakers", "named", "topic"),
    [
        ("What did Ada adopt?", ("Ada", "Ben"), ("Ada",), "What did adopt?"),
        ("what did ADA adopt", ("Ada",), ("Ada",), "what did adopt"),
        ("What is Ada's dog called?", ("Ada",), ("Ada",), "What is dog called?"),
        ("What is Ada’s dog called?", ("Ada",), ("Ada",), "What is dog called?"),
        ("Did Ada and Ben argue?", ("Ada", "Ben"), ("Ada", "Ben"), "Did and argue?"),
        ("Is Canada cold? Adam asks.", ("Ada",), (), "Is Canada cold? Adam asks."),
        ("What did the user tell the assistant?", ("user", "assistant", "System"), (), None),
        ("Who is Ada Lovelace?", ("Ada Lovelace",), ("Ada Lovelace",), "Who is ?"),
        ("Did Zoë's band play?", ("Zoë",), ("Zoë",), "Did band play?"),
        ("What did J. R. (Bob) say about c++?", ("J. R. (Bob)",), ("J. R. (Bob)",), "What did say about c++?"),
        ("Was Mary-Ann there?", ("Mary", "Ann"), (), "Was Mary-Ann there?"),
        ("Was Mary-Ann there?", ("Mary", "Mary-Ann"), ("Mary-Ann",), "Was there?"),
        ("Was ada there?", ("Ada", "ADA"), ("Ada", "ADA"), "Was there?"),
        ("Who? Ada -- or Ben?", ("?", "--", " ", "Ada"), ("Ada",), "Who? -- or Ben?"),
        ("Any question", (), (), "Any question"),
        ("", ("Ada",), (), ""),
    ],
)
def test_speakers_are_found_and_taken_out(text, speakers, named, topic):
    question = read(text, *speakers)
    assert question.speakers == named
    if topic is None or not extract_terms(topic).size:
        topic = text
    assert question.topic == topic


@pytest.mark.parametrize("text", ["Ada", "Ada?", "Who is Ada?", "Ada and Ben", "What about Ada's?"])
def test_a_question_of_nothing_but_names_stays_whole(text):
    question = read(text, "Ada", "Ben")
    assert question.topic == text
    assert "Ada" in question.speakers


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('Who said "the blue one"?', ("the blue one",)),
        ("Who said “the blue one” and «le rouge»?", ("the blue one", "le rouge")),
        ('Who said " spaced "?', ("spaced",)),
        ('"one thing" and "another"', ("one thing", "another")),
        ('A 6" pipe', ()),
        ("It's Ada's dogs' bone", ()),
        ('Did I say "ab" or "hello there"?', ("hello there",)),
        ('A 6" pipe or a 4" pipe, "the blue one"', ("the blue one",)),
        ("Who said „the blue one“?", ("the blue one",)),
        (f'"{"a" * 201}" or "hello there"', ("hello there",)),
        ('He said "no".', ()),  # too short to tell anything
    ],
)
def test_quoted_phrases_are_taken_word_for_word(text, phrases):
    assert read(text).phrases == phrases


def test_a_short_quotation_does_not_turn_the_others_inside_out():
    assert read('Did I say "ab" or "hello there"?').phrases == ("hello there",)


def test_the_longest_name_counts():
    for speakers in (("Ada", "Ada Lovelace"), ("Ada Lovelace", "Ada")):
        question = read("What did Ada Lovelace adopt?", *speakers)
        assert (question.speakers, question.topic) == (("Ada Lovelace",), "What did adopt?")


def test_a_speaker_without_a_name_is_asked_about_by_nobody():
    assert read("Where is it?", "").speakers == ()


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When did Ada move?", True),
        ("when?", True),
        ("How long was the trip?", True),
        ("How many days did it take?", True),
        ("How much time do we have?", True),
        ("What day is it?", True),
        ("Which year was that?", True),
        ("What season does she like?", True),
        ("Whenever she came, what did she bring?", False),
        ("How many dogs are there?", False),
        ("What did Ada do yesterday?", False),
        ("What is a daydream?", False),
    ],
)
def test_whether_the_answer_is_a_time(text, asks):
    assert read(text).asks_when is asks


def test_the_time_asked_about_is_read_against_now():
    during = read("What did I do last month?").during
    assert (during.start, during.end) == (datetime(2024, 4, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC))
    other = parse_question(Query(text="What did I do last month?", now=datetime(2023, 1, 9, tzinfo=UTC)), ()).during
    assert (other.start.year, other.start.month) == (2022, 12)
    assert read("When did I move?").during is None


async def test_a_probe_carries_the_topic_and_not_the_speakers():
    question = read('When did Ada say "good dog" about Toby and Toby?', "Ada")
    probe = await build_probe(question, HashEmbedder())
    expected = await HashEmbedder().embed([question.topic])
    np.testing.assert_array_equal(probe.vector, expected[0])
    assert probe.terms.tolist() == sorted(set(extract_terms(question.topic).tolist()))
    assert not np.isin(extract_terms("Ada"), probe.terms).any()
    assert (probe.speakers, probe.phrases, probe.asks_when) == (("Ada",), ("good dog",), True)
