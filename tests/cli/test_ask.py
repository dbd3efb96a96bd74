import pytest
from standin_model import HINDSIGHT

from recollect.methods.hindsight.answerer import AnswererReply
from recollect.methods.hindsight.reflector import FormedOpinion, ReflectReply
from recollect.models.languages.pydantic_ai import PydanticModel

HOSTILE = "Toby\x1b[2J is\u202e a dog"


def test_an_answer_stands_over_what_it_rests_on(cli, read):
    done = cli("ask", "Who is Toby?", *HINDSIGHT)
    assert (done.code, done.err) == (0, "")
    answer, first, *_ = done.out.splitlines()
    assert answer == "Entry one says so."
    assert first.startswith("   known, fact: It was said that ")
    assert read.prompts[-1].operation == "hindsight.answer"


def test_an_answer_as_json_is_whole(cli, read):
    told = cli("ask", "Who is Toby?", "--json", *HINDSIGHT).json()
    assert told["text"] == "Entry one says so."
    assert {citation["kind"] for citation in told["citations"]} <= {"fact", "turn"}
    assert told["receipt"]["usage"]["calls"] == 1


def test_what_memory_does_not_hold_is_told_with_status_3(cli, read):
    done = cli("ask", "Who is Bram's dentist?", *HINDSIGHT)
    assert (done.code, done.out) == (3, "Memory does not say.\n")


def test_the_receipt_tells_the_steps_and_the_tokens(cli, read):
    out = cli("ask", "Who is Toby?", "--receipt", *HINDSIGHT).out
    assert "recall  " in out
    assert "entry 1 says so" in out
    assert "1 call to standin; " in out


def test_without_a_model_the_evidence_is_printed_and_the_reason_said(cli, filled):
    done = cli("ask", "Who adopted Toby?")
    assert done.code == 3
    assert "I adopted Toby from the shelter." in done.out
    assert done.err.count("\n") == 1
    assert "none is configured: set RECOLLECT_MODEL=PROVIDER:MODEL" in done.err
    told = cli("ask", "Who adopted Toby?", "--json").json()
    assert (told["text"], told["abstained"], told["citations"]) == ("", True, [])
    assert told["evidence"][0]["text"].startswith("I adopted Toby from the shelter.")


def test_reflecting_without_a_model_is_an_error(cli, filled):
    done = cli("reflect", "Is Toby good for Ada?")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: reflect needs a language model for the role reflect")
    assert done.err.count("\n") == 1


def test_an_empty_bank_holds_nothing(cli, thinking):
    model = thinking()
    assert cli("profile", "--name", "Iris").code == 0
    for command in (("ask", *HINDSIGHT), ("reflect", *HINDSIGHT), ("ask",)):
        done = cli(*command, "Who is Toby?")
        assert (done.code, done.out) == (3, "Memory holds nothing on this.\n")
    assert model.prompts == []


@pytest.mark.parametrize("command", ["ask", "reflect"])
def test_an_unknown_bank_is_an_error_and_is_not_made(cli, thinking, command):
    thinking()
    done = cli(command, "Who?", "--bank", "nobody", *HINDSIGHT)
    assert (done.code, done.err) == (1, "error: no bank 'nobody': there is no folder ./recollect-data\n")
    assert cli("banks", "--json").json() == []


@pytest.mark.parametrize("command", ["ask", "reflect"])
@pytest.mark.parametrize(
    ("option", "value"), [("--recipe", "stew"), ("--model", "gpt"), ("--now", "soon"), ("--max-tokens", "0")]
)
def test_a_value_that_cannot_be_used_is_wrong_usage(cli, filled, command, option, value):
    done = cli(command, "Who?", option, value)
    assert done.code == 2
    assert value in done.err


def test_a_question_is_answered_as_of_a_moment(cli, read):
    told = cli("ask", "Who is Toby?", "--as-of", "2001", "--json", *HINDSIGHT)
    assert told.json()["evidence"] == []


def test_a_model_that_fails_is_an_error_in_one_line(cli, read, thinking):
    from recollect.errors import ModelUnavailable

    thinking(Answered=ModelUnavailable("the server said:\n\x1b[2Jno"))
    done = cli("ask", "Who is Toby?", *HINDSIGHT)
    assert (done.code, done.err) == (1, "error: the server said: \ufffd[2Jno\n")


def test_reflecting_tells_what_is_believed_apart_from_what_is_known(cli, read):
    done = cli("reflect", "Is Toby good for Ada?", *HINDSIGHT)
    assert done.code == 0
    assert done.out.startswith("I think so, as far as I know.\n   known, fact: ")
    assert "believed since this question, formed: I think dogs are good for Ada. she laughs more (0.60)" in " ".join(
        done.out.split()
    )
    again = cli("ask", "Are dogs good for Ada?", "--json", *HINDSIGHT).json()
    assert "opinion" in {piece["kind"] for piece in again["evidence"]}


def test_an_opinion_and_a_fact_are_never_printed_alike(cli, read, thinking):
    assert cli("reflect", "Is Toby good for Ada?", *HINDSIGHT).code == 0
    found = cli("recall", "Are dogs good for Ada? Toby", "--recipe", "hindsight").out
    heads = [line for line in found.splitlines() if line[:3].strip().rstrip(".").isdigit()]
    assert any(head.endswith("  believed, opinion") for head in heads)
    assert any(head.endswith("  known, fact") for head in heads)
    texts = {piece["text"]: piece["kind"] for piece in cli("recall", "dogs Ada Toby", "--json").json()["evidence"]}
    for line, after in zip(found.splitlines(), found.splitlines()[1:], strict=False):
        if after.strip() in texts:
            assert ("believed" in line) == (texts[after.strip()] == "opinion")


def test_nothing_that_is_said_moves_the_terminal(cli, chat, thinking):
    chat.write_text(f"# 2023-07-11\nAda: {HOSTILE}\n", "utf-8")
    thinking(
        Answered=AnswererReply(reasoning=HOSTILE, answer=HOSTILE, abstained=False, citations=(1,)),
        Reflected=ReflectReply(
            answer=HOSTILE,
            abstained=False,
            citations=(1,),
            opinions=(
                FormedOpinion(
                    statement=f"I think {HOSTILE}", reasoning=HOSTILE, confidence=0.5, entities=(), rests_on=(1,)
                ),
            ),
        ),
    )
    assert cli("retain", chat, "--wait", *HINDSIGHT).code == 0
    shown = [
        cli(command, "Who is Toby?", "--receipt", *HINDSIGHT, *more)
        for command in ("ask", "reflect")
        for more in ((), ("--model", "none"))
    ]
    shown += [cli("opinions", "--history"), cli("recall", "Toby"), cli("ask", HOSTILE, *HINDSIGHT)]
    for done in shown:
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err
    assert sum("\ufffd[2J" in done.out for done in shown) >= 5


def test_a_command_does_no_background_work_by_itself(cli, chat, thinking):
    model = thinking()
    assert cli("retain", chat, *HINDSIGHT).code == 0
    assert cli("ask", "Who is Toby?", *HINDSIGHT).code == 0
    assert {prompt.operation for prompt in model.prompts} == {"hindsight.answer"}
    assert [job["state"] for job in cli("jobs", "--json").json()] == ["waiting", "waiting"]


def test_a_real_adapter_is_chosen_by_name(monkeypatch):
    from recollect.cli.runtime import load_chosen_settings

    assert load_chosen_settings(model="openai:x").model == "openai:x"
    from recollect.app import build_language_model

    assert isinstance(build_language_model(load_chosen_settings(model="openai:x")), PydanticModel)
