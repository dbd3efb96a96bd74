import pytest
from standin_model import HINDSIGHT, make_due

from recollect.errors import InvalidReply, ModelUnavailable
from recollect.worker import WorkerSettings

ATTEMPTS = WorkerSettings().attempts
JOB = "hindsight.extract:2023-07-11"


@pytest.fixture
def waiting(cli, chat, thinking):
    """The chat, kept for a recipe that has not been at work yet."""
    thinking()
    done = cli("retain", chat, *HINDSIGHT)
    assert done.code == 0
    assert done.err == 'background work waits for "recollect worker"\n'


@pytest.fixture
def dead(cli, waiting, thinking):
    """The sessions' jobs, given up after attempts of which each gave nonsense."""
    thinking(ExtractedFacts=InvalidReply("a fact is\nempty", "{'facts':\x1b[2J []}"))
    for _ in range(ATTEMPTS):
        make_due()
        assert cli("worker", "--once", *HINDSIGHT).code == 1
    return thinking


def states(cli):
    return {job["id"]: job["state"] for job in cli("jobs", "--json").json()}


def test_no_jobs(cli, filled):
    done = cli("jobs")
    assert (done.code, done.out, done.err) == (0, "", "no jobs in bank default\n")
    assert cli("jobs", "--json").json() == []
    assert cli("jobs", "--bank", "nobody").code == 1


def test_what_waits_is_listed_with_when_it_is_due(cli, waiting):
    head, first, second = cli("jobs").out.splitlines()
    assert head.split() == ["job", "state", "attempts", "due", "messages"]
    assert first.split()[:3] == [JOB, "waiting", "0"]
    assert second.split()[-1] == "2"
    assert cli("jobs", "--state", "dead").err == "no jobs in bank default\n"
    assert len(cli("jobs", "--state", "waiting", "--state", "dead", "--json").json()) == 2


def test_what_failed_says_of_what_under_its_line(cli, dead):
    lines = cli("jobs").out.splitlines()
    assert lines[1].split()[:4] == [JOB, "dead", str(ATTEMPTS), "never"]
    assert lines[2] == "   InvalidReply: a fact is empty"


def test_a_job_is_shown_with_the_reply_that_it_failed_of(cli, dead):
    out = cli("jobs", "--show", JOB).out
    assert out.startswith(f"{JOB}\nstate     dead\n")
    assert out.endswith("the reply\n   {'facts':\ufffd[2J []}\n")
    assert cli("jobs", "--show", JOB, "--json").json()["reply"] == "{'facts':\x1b[2J []}"
    done = cli("jobs", "--show", "nothing")
    assert (done.code, done.err) == (1, "error: there is no job 'nothing'\n")


def test_a_dead_job_is_tried_again_and_done(cli, dead):
    dead()  # the model is well again
    other = "hindsight.extract:2023-10-15"
    assert cli("jobs", "--retry", JOB, "--retry", other).out.splitlines() == [
        f"{JOB} waits to be tried again",
        f"{other} waits to be tried again",
    ]
    assert states(cli) == {JOB: "waiting", other: "waiting"}
    assert cli("worker", "--once", *HINDSIGHT).code == 0
    assert states(cli) == {}


def test_all_that_failed_is_tried_again(cli, dead):
    dead()
    assert sorted(cli("jobs", "--retry", "all", "--json").json()["retried"]) == sorted(states(cli))
    assert set(states(cli).values()) == {"waiting"}
    done = cli("jobs", "--retry", "all")
    assert (done.code, done.out, done.err) == (0, "", "no job of bank default has failed\n")
    assert cli("worker", "--once", *HINDSIGHT).code == 0
    assert states(cli) == {}


def test_what_has_failed_and_waits_is_tried_again_at_once(cli, waiting, thinking):
    thinking(ExtractedFacts=InvalidReply("a fact is empty", "{}"))
    assert cli("worker", "--once", *HINDSIGHT).code == 1
    model = thinking()
    assert cli("worker", "--once", *HINDSIGHT).code == 1
    assert model.prompts == [], "it waits for its time"
    assert len(cli("jobs", "--retry", "all").out.splitlines()) == 2
    assert cli("worker", "--once", *HINDSIGHT).code == 0
    assert states(cli) == {}


def test_what_waited_for_a_limit_or_a_model_is_tried_by_whoever_is_told_to_work(cli, waiting, thinking):
    thinking(ExtractedFacts=ModelUnavailable("down"))
    assert cli("worker", "--once", *HINDSIGHT).code == 1
    thinking()
    assert cli("worker", "--once", *HINDSIGHT).code == 0
    assert states(cli) == {}


def test_messages_kept_under_another_recipe_are_read_on_request(cli, chat, thinking):
    thinking()
    cli("retain", chat)
    assert cli("jobs", "--backfill").err == "nothing to read in bank default\n"
    assert cli("jobs", "--backfill", "--recipe", "hindsight").out == "4 messages to be read\n"
    assert cli("jobs", "--backfill", "--recipe", "hindsight", "--json").json() == {"to_read": 0}
    assert set(states(cli)) == {JOB, "hindsight.extract:2023-10-15"}
    assert cli("worker", "--once", *HINDSIGHT).code == 0
    assert states(cli) == {}
    assert cli("jobs", "--backfill", "--drop", JOB).code == 2


def test_a_job_is_dropped(cli, waiting):
    assert cli("jobs", "--drop", JOB, "--json").json() == {"dropped": [JOB]}
    assert list(states(cli)) == ["hindsight.extract:2023-10-15"]


@pytest.mark.parametrize("option", ["--retry", "--drop"])
def test_a_job_that_is_not_there_is_an_error_in_one_line(cli, waiting, option):
    done = cli("jobs", option, "no\nsuch")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert len(states(cli)) == 2


def test_wrong_usage_is_told(cli, waiting):
    assert "waiting, running, dead" in cli("jobs", "--state", "lost").err
    assert cli("jobs", "--state", "lost").code == 2
    assert cli("jobs", "--retry", JOB, "--drop", JOB).code == 2
    assert len(states(cli)) == 2


def test_a_session_cannot_move_the_terminal(cli, chat, thinking):
    thinking()
    cli("retain", chat, "--session", "a\x1b[2J", *HINDSIGHT)
    assert "hindsight.extract:a\ufffd[2J" in cli("jobs").out
    assert "\x1b" not in cli("jobs", "--drop", "hindsight.extract:a\x1b[2J").out


class TestWaiting:
    def test_with_wait_facts_are_there_when_it_returns(self, cli, chat, thinking):
        model = thinking()
        told = cli("retain", chat, "--wait", "--json", *HINDSIGHT).json()
        assert (told["messages"], told["jobs"], told["failed"], told["notes"]) == (4, 2, [], [])
        assert {prompt.role.value for prompt in model.prompts} == {"extract"}
        assert states(cli) == {}

    def test_what_fails_is_told_and_the_messages_are_kept(self, cli, chat, thinking):
        thinking(ExtractedFacts=ModelUnavailable("down"))
        done = cli("retain", chat, "--wait", *HINDSIGHT)
        assert done.code == 1
        assert done.out.startswith("kept 4 messages")
        assert done.err.splitlines()[0] == f"{JOB}: ModelUnavailable: down"
        assert set(states(cli).values()) == {"waiting"}

    def test_without_a_model_it_is_wrong_usage_and_nothing_is_kept(self, cli, chat):
        done = cli("retain", chat, "--wait", "--recipe", "hindsight")
        assert done.code == 2
        assert "RECOLLECT_MODEL" in done.err
        assert cli("banks", "--json").json() == []

    def test_a_recipe_without_background_work_has_nothing_to_wait_for(self, cli, chat):
        done = cli("retain", chat, "--wait")
        assert (done.code, done.err) == (0, "")

    def test_without_a_model_jobs_wait_and_it_says_so(self, cli, chat):
        done = cli("retain", chat, "--recipe", "hindsight")
        assert (done.code, done.err) == (0, "jobs wait: no language model is configured\n")

    def test_past_a_limit_messages_are_kept_and_jobs_wait(self, cli, chat, thinking, monkeypatch):
        thinking()
        monkeypatch.setenv("RECOLLECT_LIMITS", "0")
        done = cli("retain", chat, *HINDSIGHT)
        assert done.code == 0
        assert "jobs wait: " in done.err
        assert "0 tokens in all" in done.err
        assert len(states(cli)) == 2


class TestCosts:
    def test_no_calls(self, cli, filled):
        assert cli("costs").err == "no model was called for bank default\n"
        assert cli("costs", "--json").json() == []

    def test_calls_are_summed_by_operation_role_and_model(self, cli, read):
        cli("ask", "Who is Toby?", *HINDSIGHT)
        head, answer, extract, total = cli("costs").out.splitlines()
        assert head.split()[:5] == ["operation", "role", "model", "calls", "failed"]
        assert answer.split()[:5] == ["hindsight.answer", "answer", "standin", "1", "0"]
        assert extract.split()[:5] == ["hindsight.extract", "extract", "standin", "2", "0"]
        told = cli("costs", "--json").json()
        spent = sum(cost["usage"]["tokens_in"] + cost["usage"]["tokens_out"] for cost in told)
        assert total == f"{spent:,} tokens in all"

    def test_what_failed_is_counted(self, cli, read, thinking):
        thinking(Answered=ModelUnavailable("down"))
        cli("ask", "Who is Toby?", *HINDSIGHT)
        assert sorted(cost["failed"] for cost in cli("costs", "--json").json()) == [0, 1]
