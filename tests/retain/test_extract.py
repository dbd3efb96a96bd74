"""What is read from a turn: times, names, whether it asks, and the terms it is searched by."""

from datetime import UTC, datetime

import numpy as np
import pytest

from recollect.domain.entities import EntityKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.time import Precision
from recollect.retain.extract import MOST_NAMES, MOST_TIMES, extract_turn, make_item
from recollect.retain.turns import group_turns
from recollect.text.terms import extract_terms

SAID = datetime(2023, 8, 20, 18, tzinfo=UTC)
RECORDED = datetime(2024, 1, 1, tzinfo=UTC)


def stored(n, text, role=Role.USER, captions=()):
    return StoredMessage(
        id=f"m{n}",
        session="s",
        position=n,
        speaker="Ada" if role is Role.USER else "assistant",
        role=role,
        text=text,
        captions=captions,
        at=SAID,
        recorded=RECORDED,
    )


def turn_of(text, answer=None, captions=()):
    said = [stored(0, text, captions=captions)]
    if answer is not None:
        said.append(stored(1, answer, Role.ASSISTANT))
    (turn,) = group_turns(said, last=None)
    return turn


def read(text, answer=None, *, captions=(), known=(), speakers=("Ada",)):
    return extract_turn(turn_of(text, answer, captions), frozenset(known), frozenset(speakers))


def item(text, answer=None, captions=()):
    return make_item(turn_of(text, answer, captions), read(text, answer, captions=captions), 7)


def names(extracted):
    return {found.surface for found in extracted.names}


def test_a_turn_as_an_item():
    kept = item("I adopted Toby.", "How nice!")
    assert (kept.id, kept.text) == ("turn:0:m0", "I adopted Toby.\nassistant: How nice!")
    assert (kept.session, kept.speaker, kept.sources, kept.order) == ("s", "Ada", ("m0", "m1"), 0)
    assert (kept.mentioned, kept.recorded, kept.occurred) == (SAID, RECORDED, None)


def test_relative_words_mean_dates():
    kept = item("I ran a marathon yesterday, and in 2019 too.")
    first, second = kept.occurrences
    assert (first.words, first.interval.precision) == ("yesterday", Precision.DAY)
    assert first.interval.start == datetime(2023, 8, 19, tzinfo=UTC)
    assert (second.interval.start.year, second.interval.precision) == (2019, Precision.YEAR)
    assert kept.occurred == first.interval


def test_the_dates_that_words_mean_are_searched_too():
    found = read("I ran a marathon yesterday.").terms
    assert np.isin(extract_terms("19 August 2023"), found).all()
    assert np.isin(extract_terms("marathon yesterday"), found).all()
    assert not np.isin(extract_terms("2023"), read("I ran a marathon.").terms).any()


def test_terms_are_those_of_all_parts_repeats_kept():
    extracted = read("red red bicycle", "a blue bicycle", captions=("green door",))
    expected = extract_terms("red red bicycle green door blue bicycle")
    assert sorted(extracted.terms.tolist()) == sorted(expected.tolist())
    assert extracted.terms.dtype == np.uint32
    assert read("the of and").terms.size == 0


def test_times_and_names_are_read_from_the_opening_words_alone():
    extracted = read("What do you think?", "On 5 May 2020 we saw Elizabeth Warrington in Paris.")
    assert extracted.occurrences == ()
    assert extracted.names == ()
    assert np.isin(extract_terms("elizabeth paris"), extracted.terms).all()
    other = read("Then we saw Elizabeth Warrington in Paris on 5 May 2020.", "Nice.")
    assert names(other) == {"Elizabeth Warrington", "Paris"}
    assert other.occurrences[0].interval.start == datetime(2020, 5, 5, tzinfo=UTC)


def test_captions_belong_to_the_opening_words():
    extracted = read("Look!", captions=("a photo of the Eiffel Tower taken yesterday",))
    assert "Eiffel Tower" in names(extracted)
    assert extracted.occurrences[0].interval.start == datetime(2023, 8, 19, tzinfo=UTC)


def test_a_found_name_knows_its_company_and_its_moment():
    found = {one.surface: one for one in read("Then we saw Elizabeth Warrington in Paris.").names}
    paris = found["Paris"]
    assert (paris.item, paris.at, paris.other_names) == ("turn:0:m0", SAID, ("Elizabeth Warrington",))
    assert found["Elizabeth Warrington"].other_names == ("Paris",)
    assert isinstance(paris.kind, EntityKind)


def test_a_name_is_found_once_and_not_in_its_own_company():
    (found,) = read("Then we saw Elizabeth Warrington, and Elizabeth Warrington waved.").names
    assert found.other_names == ()


@pytest.mark.parametrize(
    ("text", "answer", "asks"),
    [
        ("Where is it?", None, True),
        ("Where is it?  \n", None, True),
        ("Where is it?", "There.", False),  # the answer is in it
        ("Where is it? I cannot see.", None, False),
        ("It is here.", None, False),
        ("", None, False),
    ],
)
def test_whether_it_asks(text, answer, asks):
    assert read(text, answer).asks is asks


def test_a_question_with_a_picture_asks():
    assert read("Do you like it?", captions=("a red bicycle",)).asks


@pytest.mark.parametrize("text", ["昨日、何を食べた？", "أين هو؟"])
def test_questions_of_other_scripts_ask(text):
    assert read(text).asks


def test_there_are_bounds_to_what_one_turn_tells():
    many = " ".join(f"We met Bertrand{chr(97 + n)} Smith in {2000 + n}." for n in range(26))
    extracted = read(many)
    assert len(extracted.occurrences) == MOST_TIMES
    assert 0 < len(extracted.names) <= MOST_NAMES
