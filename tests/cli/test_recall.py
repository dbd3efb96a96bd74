import json

import pytest


def test_evidence_is_printed_with_its_reasons(cli, filled):
    done = cli("recall", "When did Ada adopt Toby?")
    assert done.code == 0
    first = done.out.split("\n 2. ")[0]
    assert first.startswith(" 1. 2023-")
    assert "Ada" in first
    assert "semantic 1" in done.out
    assert "He sleeps on the sofa already." in done.out


def test_when_it_happened_is_told(cli, filled):
    assert "speaks of 11 October 2023" in cli("recall", "adopted a cat").out


def test_json_is_the_whole_recall(cli, filled):
    found = cli("recall", "Toby", "--json").json()
    assert {"evidence", "receipt"} == found.keys()
    assert {arm["arm"] for arm in found["receipt"]["arms"]} == {"semantic", "lexical", "graph", "temporal"}
    assert found["evidence"][0]["sources"]


def test_the_receipt_has_the_arms_that_were_asked_for(cli, filled):
    out = cli("recall", "Toby", "--receipt", "--arms", "semantic,lexical", "--recipe", "tempr").out
    assert "rrf fusion" in out
    assert "semantic  ok" in out
    assert "temporal" not in out


def test_scope_narrows(cli, filled):
    def sessions(*args):
        return {evidence["session"] for evidence in cli("recall", "adopted", *args, "--json").json()["evidence"]}

    assert sessions() == {"2023-07-11", "2023-10-15"}
    assert sessions("--session", "2023-10-15") == {"2023-10-15"}
    assert sessions("--since", "2023-09") == {"2023-10-15"}
    assert sessions("--until", "2023-07-11") == {"2023-07-11"}
    assert sessions("--speaker", "Nobody") == set()


def test_limit_and_exclude(cli, filled):
    first = cli("recall", "Toby", "--limit", "1", "--json").json()["evidence"]
    assert len(first) == 1
    rest = cli("recall", "Toby", "--exclude", first[0]["id"], "--json").json()["evidence"]
    assert first[0]["id"] not in {evidence["id"] for evidence in rest}


def test_as_of_a_day_before_it_was_recorded_there_is_nothing(cli, filled):
    assert cli("recall", "Toby", "--as-of", "2023-12-31").code == 3


def test_last_october_is_read_against_now(cli, filled):
    done = cli("recall", "What did Ada adopt last October?", "--now", "2024-07-20", "--receipt")
    assert "time asked about: October 2023" in done.out


def test_nothing_found_has_a_status_of_its_own(cli, filled):
    done = cli("recall", "Toby", "--speaker", "Nobody")
    assert (done.code, done.out, done.err) == (3, "", "nothing found\n")


def test_no_bank_is_an_error_in_one_line(cli, filled):
    done = cli("recall", "Toby", "--bank", "nope")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: no bank 'nope' in recollect-data; there are: default\n"


def test_asking_makes_no_folder(cli, tmp_path):
    done = cli("recall", "Toby", "--store", "nowhere")
    assert done.code == 1
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--limit", "0"),
        ("--max-tokens", "0"),
        ("--effort", "huge"),
        ("--kind", "poem"),
        ("--arms", "left"),
        ("--recipe", "stew"),
        ("--reranker", "magic"),
        ("--since", "yesterday"),
        ("--now", "2023-02-30"),
        ("--as-of", "13"),
        ("--zone", "+99"),
        ("--colour",),
    ],
)
def test_wrong_usage_has_status_2(cli, filled, wrong):
    assert cli("recall", "Toby", *wrong).code == 2


def test_the_store_and_the_embedder_come_from_the_environment(process, chat):
    env = {"RECOLLECT_STORE": "elsewhere", "RECOLLECT_EMBEDDER": "wordllama-128"}
    assert process("retain", chat, env=env).code == 0
    (bank,) = process("banks", "--json", env=env).json()
    assert bank["dimension"] == 128
    assert process("recall", "Toby", env={"RECOLLECT_STORE": "elsewhere"}).code == 1
    assert process("recall", "Toby", "--store", "elsewhere", "--embedder", "wordllama-128").code == 0


def test_what_could_move_a_cursor_is_not_printed(cli):
    line = json.dumps({"speaker": "Eve", "text": "look \x1b[2J\x1b]0;owned\x07 here"})
    assert cli("retain", "-", "--format", "jsonl", stdin=line + "\n").code == 0
    assert "\x1b" not in cli("recall", "look here").out


def test_a_pipe_gets_plain_text_and_may_close_early(process, filled, tmp_path):
    out = process("recall", "Toby").out
    assert "\x1b" not in out
    assert "Toby" in out
