import pytest

from recollect import Fact
from recollect.cli.evidence import format_forget_receipt
from recollect.domain.receipts import ForgetReceipt, Verification
from recollect.sync import Memory


def test_a_session_is_forgotten_with_a_receipt(cli, filled):
    done = cli("forget", "--session", "2023-07-11", "--yes")
    assert done.code == 0
    assert done.out.startswith("forgot 2 messages, 1 session, ")
    assert "verified: none of their words is left" in done.out
    assert "Toby" not in cli("recall", "Toby").out


def test_the_receipt_as_json(cli, filled):
    receipt = cli("forget", "--speaker", "Bram", "--yes", "--json").json()
    assert len(receipt["messages"]) == 2
    assert receipt["verified"] is True


@pytest.mark.parametrize(
    "selection",
    [("--since", "2023-10"), ("--entity", "Toby"), ("--until", "2023-07-11T00:00:01", "--zone", "UTC")],
)
def test_other_ways_to_select(cli, filled, selection):
    assert cli("forget", *selection, "--yes").code == 0


def test_a_message_by_its_id(cli, filled):
    source = cli("recall", "cat", "--json").json()["evidence"][0]["sources"][0]
    assert cli("forget", "--message", source, "--yes", "--json").json()["messages"] == [source]


def test_nothing_forgotten_has_a_status_of_its_own(cli, filled):
    done = cli("forget", "--session", "1999-01-01", "--yes")
    assert (done.code, done.out) == (3, "")
    assert "nothing was forgotten" in done.err


def test_without_a_terminal_yes_is_needed(process, filled):
    done = process("forget", "--session", "2023-07-11", stdin=b"y\n")
    assert done.code == 2
    assert "--yes" in done.err
    assert process("banks", "--json").json()[0]["messages"] == 4


@pytest.mark.parametrize(("answer", "left"), [("n\n", 4), ("y\n", 2)])
def test_a_terminal_is_asked(cli, filled, monkeypatch, answer, left):
    monkeypatch.setattr("recollect.cli.runtime._is_terminal", lambda: True)
    done = cli("forget", "--session", "2023-07-11", stdin=answer)
    assert "session '2023-07-11'" in done.err
    assert done.code == (0 if left == 2 else 1)
    assert cli("banks", "--json").json()[0]["messages"] == left


def test_nothing_selected_is_wrong_usage(cli, filled):
    assert cli("forget", "--yes").code == 2


def test_a_check_that_found_something_says_where():
    receipt = ForgetReceipt(
        messages=("a",),
        sessions=1,
        items=1,
        links=0,
        entities=0,
        mentions=0,
        jobs=0,
        verification=Verification.WORDS_LEFT,
        leftovers=("x.bank",),
        seconds=0.01,
    )
    assert "NOT verified: words were found in x.bank" in format_forget_receipt(receipt)


def test_a_given_fact_is_forgotten_by_its_id_and_its_words_are_told(cli, filled):
    with Memory.open(filled) as memory:
        memory.bank("default").add_facts(Fact(id="f1", subject="Toby", predicate="is", object="a lurcher"))
    assert cli("forget", "--fact", "f2", "--yes").code == 3
    done = cli("forget", "--fact", "f1", "--yes")
    assert done.code == 0
    assert "forgot 0 messages, 0 sessions, 1 item" in done.out
    assert cli("forget", "--fact", "f1", "--yes").code == 3
