"""``recollect recordings``: what is printed, and what a run leaves."""

import json
import sys
from types import ModuleType

import pytest
import typer
from click import unstyle
from replay_fakes import Elsewhere, body_of, entry, post, served
from typer.testing import CliRunner

from recollect.cli.runtime import Commands
from recollect.errors import ModelUnavailable
from recollect_lab.cli.recordings import app, dump_report, format_entries, format_report
from recollect_lab.recordings import Recording, ReplayReport, RequestKey, StaleReply
from recollect_lab.recordings.recorded_reply import read_request_key

EXTRACT, REFLECT = ("extract", "hindsight.extract", "2023-07-11"), ("reflect", "hindsight.reflect", "Who is Toby?")


class TestPrinting:
    def test_entries_stand_under_their_roles_with_sizes(self):
        entries = (
            entry("x" * 3_000, place=EXTRACT),
            entry("second", reply="y" * 2_000, place=EXTRACT),
            entry("third", place=REFLECT),
            entry("fourth", place=None),
        )
        lines = unstyle(format_entries(entries)).splitlines()
        assert [line.split()[:3] for line in lines if line and line[0] != " "] == [
            ["extract", "2", "replies,"],
            ["reflect", "1", "reply,"],
            ["no", "role", "1"],
        ]
        assert "3 kB of prompts, 2 kB of replies" in lines[0]
        assert lines[1].split() == ["hindsight.extract", "2023-07-11", "3", "kB", "0", "kB", entries[0].asked.key]

    def test_a_report_without_flaws_is_one_line(self):
        assert format_report(ReplayReport(exact=(entry(),)), "hindsight") == (
            "1 exact, 0 recorded now, 0 stale, 0 missing, 0 unused"
        )

    def test_what_is_wrong_is_listed_with_what_to_do(self):
        stale = StaleReply(asked=read_request_key(body_of("new", place=EXTRACT)), entry=entry(place=EXTRACT))
        missing = read_request_key(body_of(place=REFLECT))
        text = format_report(ReplayReport(stale=(stale,), missing=(missing,)), "hindsight")
        first, stale_lines, missing_lines, advice = text.split("\n\n")
        assert first == "0 exact, 0 recorded now, 1 stale, 1 missing, 0 unused"
        assert stale_lines.split()[-4:] == [*EXTRACT, stale.asked.key]
        assert missing_lines.splitlines()[1].split()[-1] == missing.key
        assert "recollect recordings record hindsight --upstream URL" in advice

    def test_what_is_unused_is_told_with_how_to_drop_it(self):
        text = format_report(ReplayReport(unused=(entry(place=EXTRACT),)), "hindsight")
        assert "2023-07-11" in text
        assert text.endswith("record hindsight --upstream URL --prune")

    def test_what_was_asked_cannot_move_the_cursor(self):
        asked = RequestKey(key="k", role="extract\x1b[2J", operation="o", subject="two\nlines")
        text = format_report(ReplayReport(missing=(asked,)), "\x1b[1m")
        assert "\x1b[2J" not in text
        assert "two lines" in text
        assert "record \x1b" not in text

    def test_the_report_is_json_too(self):
        stale = StaleReply(asked=read_request_key(body_of("new")), entry=entry())
        told = json.loads(json.dumps(dump_report(ReplayReport(stale=(stale,), unused=(entry("old"),)))))
        assert told["stale"] == [
            {
                "key": stale.asked.key,
                "role": "extract",
                "operation": "hindsight.extract",
                "subject": "2023-07-11",
                "answered_with": entry().asked.key,
            }
        ]
        assert [each["key"] for each in told["unused"]] == [entry("old").asked.key]
        assert told["exact"] == told["missing"] == told["recorded"] == []


@pytest.fixture
def cli():
    """Run a command as the whole program would."""
    root = typer.Typer(cls=Commands)
    root.add_typer(app, name="recordings")

    def run(*args):
        done = CliRunner().invoke(root, ["recordings", *map(str, args)])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return run


@pytest.fixture
def rehearsed(monkeypatch):
    """The recorded run asks these bodies, one after another; a 404 breaks it off, as it does the real adapter."""

    def of(*bodies):
        async def rehearse(plan, base_url, progress, *, lanes):
            progress(f"{lanes} at a time")
            for number, body in enumerate(bodies, start=1):
                progress(f"step {number}")
                if (told := post(base_url, body, Authorization="Bearer x")).status != 200:
                    raise ModelUnavailable(told.problem)

        module = ModuleType("recollect_lab.rehearsals.rehearsal")
        module.rehearse = rehearse
        monkeypatch.setitem(sys.modules, "recollect_lab.rehearsals.rehearsal", module)

    return of


@pytest.fixture
def folder(tmp_path, recording):
    recording(entry("one", place=EXTRACT), entry("two", place=REFLECT))
    return tmp_path / "kept"


def one(text="one"):
    return body_of(text, place=EXTRACT)


def two(text="two"):
    return body_of(text, place=REFLECT)


class TestList:
    def test_it_lists(self, cli, folder):
        done = cli("list", folder)
        assert done.exit_code == 0
        assert "hindsight.extract" in done.stdout
        assert "Who is Toby?" in done.stdout

    def test_as_json(self, cli, folder):
        told = json.loads(cli("list", folder, "--json").stdout)
        assert [each["role"] for each in told] == ["extract", "reflect"]
        assert told[0]["reply_bytes"] == len("Ada.")
        assert told[0]["usage"]["total_tokens"] == 7

    def test_no_such_recording_is_wrong_usage(self, cli, tmp_path):
        assert cli("list", "nothing-of-this-name").exit_code == 2
        assert cli("list", tmp_path / "none").exit_code == 2

    def test_a_damaged_one_is_an_error_in_one_line(self, cli, folder):
        (folder / "replies.jsonl").write_text("{}\n", "utf-8")
        done = cli("list", folder)
        assert done.exit_code == 1
        assert done.stderr.startswith("error: line 1")


class TestCheck:
    def test_what_fits_is_fine(self, cli, folder, rehearsed):
        rehearsed(one(), two())
        done = cli("check", folder)
        assert (done.exit_code, done.stdout) == (0, "2 exact, 0 recorded now, 0 stale, 0 missing, 0 unused\n")
        assert "step 2" in done.stderr

    def test_what_is_stale_is_told(self, cli, folder, rehearsed):
        rehearsed(one("one, in other words"), two())
        done = cli("check", folder)
        assert done.exit_code == 1
        assert "1 exact, 0 recorded now, 1 stale" in done.stdout
        assert "--upstream" in done.stdout

    def test_a_run_that_breaks_off_is_told_after_the_report(self, cli, folder, rehearsed):
        rehearsed(one(), body_of("three", place=("judge", "x", "y")), two())
        done = cli("check", folder, "--json")
        report = json.loads(done.stdout)
        assert done.exit_code == 1
        assert [len(report[name]) for name in ("exact", "missing", "unused")] == [1, 1, 1]
        assert "error: the run broke off" in done.stderr


class TestRecord:
    def test_what_is_missing_is_recorded_and_then_fits(self, cli, tmp_path, rehearsed, elsewhere, monkeypatch):
        monkeypatch.setenv("RECOLLECT_API_KEY", "ours")
        rehearsed(one(), two())
        new = tmp_path / "new"
        done = cli("record", new, "--upstream", elsewhere.base_url, "--model", "big", "--lanes", 3)
        assert (done.exit_code, len(Recording.open(new).entries)) == (0, 2)
        assert "2 recorded now" in done.stdout
        assert "3 at a time" in done.stderr
        assert elsewhere.asked[0]["model"] == "big"
        assert elsewhere.headers[0]["Authorization"] == "Bearer ours"
        assert cli("check", new).exit_code == 0

    def test_what_the_run_does_not_use_goes_when_asked(self, cli, folder, rehearsed, elsewhere):
        rehearsed(one(), two("other words"))
        assert cli("record", folder, "--upstream", elsewhere.base_url).exit_code == 0
        assert len(Recording.open(folder).entries) == 3
        done = cli("record", folder, "--upstream", elsewhere.base_url, "--prune")
        assert done.exit_code == 0
        assert "dropped 1 reply" in done.stderr
        assert [each.reply for each in Recording.open(folder).entries] == ["Ada.", "reply 1"]

    def test_a_run_that_breaks_off_drops_nothing_and_keeps_what_it_has(self, cli, folder, rehearsed):
        def answer(number):
            return (
                (200, {"choices": [{"message": {"content": "new"}}]}, {})
                if number == 1
                else (503, {"error": {"message": "down"}}, {})
            )

        with served(Elsewhere(answer=answer)) as elsewhere:
            rehearsed(one("new one"), two("new two"))
            done = cli("record", folder, "--upstream", elsewhere.base_url, "--prune")
        assert done.exit_code == 1
        assert "down" in done.stderr
        assert len(Recording.open(folder).entries) == 3

    def test_an_upstream_that_is_no_address_is_wrong_usage(self, cli, folder):
        assert cli("record", folder, "--upstream", "here").exit_code == 2
