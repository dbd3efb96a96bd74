from datetime import UTC, datetime

import pytest
from click import unstyle
from standin_model import HINDSIGHT

from recollect.cli.answers import format_opinion
from recollect.domain.opinions import Opinion


@pytest.fixture
def believing(cli, read):
    assert cli("reflect", "Is Toby good for Ada?", *HINDSIGHT).code == 0
    return read


@pytest.mark.parametrize("what", ["opinions", "observations"])
def test_where_there_are_none_it_says_so(cli, filled, what):
    done = cli(what)
    assert (done.code, done.out, done.err) == (0, "", f"no {what} in bank default\n")
    assert cli(what, "--json").json() == []


@pytest.mark.parametrize("what", ["opinions", "observations", "profile"])
def test_an_unknown_bank_is_an_error(cli, what):
    done = cli(what, "--bank", "nobody")
    assert done.code == 1
    assert done.err.startswith("error: no bank 'nobody'")


@pytest.mark.parametrize("what", ["opinions", "observations"])
def test_an_unknown_entity_is_an_error_in_one_line(cli, filled, what):
    done = cli(what, "--entity", "Zora")
    assert (done.code, done.err) == (1, "error: the bank has no entity named 'Zora'\n")


def test_an_opinion_is_printed_as_believed_with_its_confidence(cli, believing):
    first, foot = cli("opinions").out.splitlines()
    assert first == "0.60  I think dogs are good for Ada. she laughs more"
    assert foot.startswith("   believed since ")
    assert "about Ada" in foot


def test_in_a_terminal_the_confidence_stands_out_and_long_lines_hang(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    at = datetime(2024, 5, 1, tzinfo=UTC)
    opinion = Opinion(
        id="o", text="I think " + "dogs " * 20, confidence=0.5, formed=at, entities=(), sources=(), steps=()
    )
    first, second, *_ = format_opinion(opinion, history=True).splitlines()
    assert first.startswith("\x1b[1m0.50\x1b[0m  I think dogs")
    assert second.startswith("      dogs")
    assert max(len(unstyle(line)) for line in (first, second)) <= 40


def test_history_tells_what_moved_it(cli, believing):
    out = cli("opinions", "--history", "--entity", "ada").out
    assert "  0.60  formed: I think dogs are good for Ada." in out
    (opinion,) = cli("opinions", "--json").json()
    (step,) = opinion["steps"]
    assert step["evidence"]
    assert f"by {', '.join(step['evidence'])}" in " ".join(out.split())


def test_facts_that_come_later_move_it(cli, believing):
    assert cli("retain", "-", "--session", "later", "--wait", *HINDSIGHT, stdin="Ada: Toby is asleep.\n").code == 0
    (opinion,) = cli("opinions", "--json").json()
    assert [step["assessment"] for step in opinion["steps"]][:2] == ["formed", "reinforce"]
    assert opinion["confidence"] > 0.6


def test_observations_are_printed_as_known(cli, read, tmp_path):
    lines = "".join(f"# 2023-07-{day}\nAda: I walked Toby.\nBram: Toby walked Ada.\n" for day in range(12, 16))
    assert cli("retain", "-", "--format", "chat", "--wait", *HINDSIGHT, stdin=lines).code == 0
    out = cli("observations", "--entity", "Ada").out
    assert "Ada is known for 0 things.\n   known from 2 facts · observation:" in out
    found = cli("observations", "--json").json()
    assert {item["kind"] for item in found} == {"observation"}


def test_a_profile_is_said_and_shown(cli):
    done = cli(
        "profile", "--name", "Iris", "--skepticism", 5, "--bias-strength", 0.25, "--background", "I am a librarian."
    )
    assert done.code == 0
    assert done.out == ("Iris: skepticism 5, literalism 3, empathy 3, bias strength 0.25\n   I am a librarian.\n")
    assert cli("profile").out == done.out
    told = cli("profile", "--empathy", 1, "--json").json()
    assert told == {
        "name": "Iris",
        "background": "I am a librarian.",
        "disposition": {"skepticism": 5, "literalism": 3, "empathy": 1, "bias_strength": 0.25},
    }


def test_a_first_background_needs_no_model_and_is_put_in_the_first_person(cli, filled):
    assert "I am a creative engineer" in cli("profile", "--add", "You are a creative engineer").out


def test_a_second_one_is_merged_by_the_model_or_refused(cli, filled, thinking):
    assert cli("profile", "--add", "You were born in Texas.").code == 0
    done = cli("profile", "--add", "You like tea.")
    assert done.code == 1
    assert done.err.startswith("error: hindsight.background needs a language model")
    assert "I was born in Texas." in cli("profile").out
    thinking()
    assert "I am Iris. I keep notes." in cli("profile", "--add", "You like tea.", "--model", "openai:x").out


@pytest.mark.parametrize(
    ("option", "value"),
    [("--empathy", "6"), ("--skepticism", "0"), ("--bias-strength", "1.5"), ("--name", " "), ("--add", "  ")],
)
def test_what_cannot_be_is_wrong_usage(cli, filled, option, value):
    assert cli("profile", option, value).code == 2
    assert cli("profile", "--json").json()["name"] == "default"


def test_a_name_cannot_move_the_terminal(cli):
    assert cli("profile", "--name", "I\x1b[2Jris\nx").out.startswith("I\ufffd[2Jris x: ")
