"""The endpoint: exact, recorded, stale, missing, over real HTTP."""

import json
import socket
import threading
from urllib.parse import urlsplit

import pytest
from replay_fakes import PLACE, Elsewhere, body_of, completion, entry, post, served

from recollect.errors import InvalidInput
from recollect_lab.recordings import Recording, ReplayServer, Upstream
from recollect_lab.recordings.recorded_reply import compute_key

NEW = "In other words: who adopted Toby?"


class TestReplay:
    def test_the_exact_request_has_its_reply(self, recording):
        kept = entry()
        with ReplayServer(recording(kept, entry("another"))) as server:
            told = post(server.base_url, body_of(place=None, model="any", temperature=0.3))
            report = server.report
        assert (told.status, told.text) == (200, "Ada.")
        assert told.body["usage"] == kept.usage
        assert told.body["object"] == "chat.completion"
        assert [each.asked.key for each in report.exact] == [kept.asked.key]
        assert report.is_fresh
        assert [each.request["messages"][0]["content"] for each in report.unused] == ["another"]

    def test_another_wording_is_answered_and_marked(self, recording):
        kept = entry()
        with ReplayServer(recording(kept)) as server:
            told = post(server.base_url, body_of(NEW))
            report = server.report
        assert told.text == "Ada."
        ((asked, stood_in),) = [(stale.asked, stale.entry) for stale in report.stale]
        assert (asked.key, asked.purpose, stood_in) == (compute_key(body_of(NEW)), PLACE, kept)
        assert not report.is_fresh
        assert report.exact == report.missing == report.unused == ()
        assert report.used_keys == {kept.asked.key}

    def test_what_is_not_there_is_missing(self, recording):
        other = ("reflect", "hindsight.reflect", "Who?")
        with ReplayServer(recording(entry())) as server:
            asked = (body_of(NEW, place=other), body_of(NEW, place=other), body_of("And when?", place=None))
            told = [post(server.base_url, body) for body in asked]
            report = server.report
        assert [each.status for each in told] == [404] * 3
        assert "reflect hindsight.reflect Who?" in told[0].problem
        assert {asked.purpose for asked in report.missing} == {other, ("", "", "")}
        assert len(report.missing) == 2
        assert not report.is_fresh
        assert len(report.unused) == 1

    def test_calls_and_the_reason_it_ended_come_back(self, recording):
        calls = ({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},)
        with ReplayServer(recording(entry(reply="", tool_calls=calls, finish="tool_calls"))) as server:
            (choice,) = post(server.base_url, body_of()).body["choices"]
        assert choice["message"] == {"role": "assistant", "content": None, "tool_calls": list(calls)}
        assert choice["finish_reason"] == "tool_calls"

    def test_many_ask_at_once(self, recording):
        with ReplayServer(recording(*(entry(f"question {n}", reply=f"answer {n}") for n in range(20)))) as server:
            told = at_once(lambda n: post(server.base_url, body_of(f"question {n}")).text, 20)
            report = server.report
        assert told == [f"answer {n}" for n in range(20)]
        assert len(report.exact) == 20


def at_once(work, count):
    """What ``work`` gives for each number, done by as many threads."""
    told = [None] * count

    def one(number):
        told[number] = work(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


class TestRefusals:
    @pytest.mark.parametrize(
        ("body", "status", "problem"),
        [
            (b"{", 400, "not JSON"),
            (b"[]", 400, "no list of messages"),
            ({"messages": "hello"}, 400, "no list of messages"),
            (body_of(stream=True), 400, "does not stream"),
        ],
    )
    def test_what_is_no_chat_completion_is_told_in_words(self, recording, body, status, problem):
        with ReplayServer(recording(entry())) as server:
            told = post(server.base_url, body)
            assert server.report.missing == ()
        assert told.status == status
        assert problem in told.problem

    def test_there_is_nothing_else_to_ask(self, recording):
        with ReplayServer(recording(entry())) as server:
            told = post(server.base_url, body_of(), path="/embeddings")
        assert told.status == 404
        assert "/embeddings" in told.problem

    def test_it_is_reached_from_this_machine_alone(self, recording):
        with ReplayServer(recording()) as server:
            assert server.base_url.startswith("http://127.0.0.1:")

    @pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", ""])
    def test_an_upstream_is_an_address(self, recording, url):
        with pytest.raises(InvalidInput, match="http://"):
            ReplayServer(recording(), upstream=url)


class TestRecording:
    def test_what_is_not_there_is_asked_for_and_kept(self, tmp_path, recording, elsewhere):
        body = body_of(response_format={"type": "json_object"}, temperature=0)
        with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
            first, second = (post(server.base_url, body, Authorization="Bearer secret") for _ in range(2))
            report = server.report
        assert first.text == second.text == "reply 1"
        assert elsewhere.asked == [{name: value for name, value in body.items() if name != "metadata"}]
        assert elsewhere.headers[0]["Authorization"] == "Bearer secret"
        (kept,) = Recording.open(tmp_path / "kept").entries
        assert (kept.asked.purpose, kept.reply, kept.model) == (PLACE, "reply 1", "theirs")
        assert kept.request == {name: body[name] for name in ("messages", "response_format", "temperature")}
        assert kept.usage["total_tokens"] == 4
        assert "secret" not in (tmp_path / "kept" / "replies.jsonl").read_text("utf-8")
        assert report.recorded == (kept,)
        assert report.exact == report.unused == ()
        assert report.is_fresh

    def test_a_recorded_run_replays_alike(self, tmp_path, recording, elsewhere):
        elsewhere.answer = lambda _: (200, completion("cut", finish="length"), {})
        with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
            recorded = post(server.base_url, body_of()).body
        with ReplayServer(Recording.open(tmp_path / "kept")) as server:
            replayed = post(server.base_url, body_of()).body
        assert {**recorded, "created": 0} == {**replayed, "created": 0}
        assert replayed["choices"][0]["finish_reason"] == "length"

    def test_an_old_reply_does_not_stand_in_where_there_is_somebody_to_ask(self, recording, elsewhere):
        kept = recording(entry(reply="old"))
        with ReplayServer(kept, upstream=elsewhere.base_url) as server:
            assert post(server.base_url, body_of(NEW)).text == "reply 1"
            report = server.report
        assert report.is_fresh
        assert [each.reply for each in report.unused] == ["old"]
        assert [each.reply for each in kept.prune(report.used_keys)] == ["old"]

    def test_key_and_model_can_be_given(self, recording, elsewhere):
        upstream = Upstream(base_url=elsewhere.base_url, api_key="ours", model="big")
        assert "ours" not in repr(upstream)
        with ReplayServer(recording(), upstream=upstream) as server:
            post(server.base_url, body_of(), Authorization="Bearer theirs")
        assert elsewhere.asked[0]["model"] == "big"
        assert elsewhere.headers[0]["Authorization"] == "Bearer ours"

    @pytest.mark.parametrize(
        "answer",
        [
            (429, {"error": {"message": "slow down"}}, {"Retry-After": "7"}),
            (500, {"error": {"message": "broken"}}, {}),
            (200, {"choices": []}, {}),
            (200, completion(""), {}),
            (200, completion(None), {}),
            (200, completion(["parts"]), {}),
            (200, [1], {}),
        ],
    )
    def test_what_is_no_reply_is_passed_on_and_not_kept(self, tmp_path, recording, elsewhere, answer):
        elsewhere.answer = lambda number: answer if number == 1 else (200, completion("at last"), {})
        with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
            told = post(server.base_url, body_of())
            missing = server.report.missing
            assert not (tmp_path / "kept").exists()
            again = post(server.base_url, body_of())
            report = server.report
        assert (told.status, told.body) == answer[:2]
        assert told.headers.get("Retry-After") == answer[2].get("Retry-After")
        assert [asked.purpose for asked in missing] == [PLACE]
        assert again.text == "at last"
        assert report.missing == ()
        assert len(report.recorded) == 1

    def test_an_upstream_that_is_down_is_told(self, recording):
        with served(Elsewhere()) as gone:
            address = gone.base_url
        with ReplayServer(recording(), upstream=address) as server:
            told = post(server.base_url, body_of())
            assert len(server.report.missing) == 1
        assert told.status == 502
        assert "could not be reached" in told.problem

    def test_an_upstream_that_does_not_answer_is_told(self, recording, elsewhere):
        elsewhere.gate.clear()
        with ReplayServer(recording(), upstream=Upstream(base_url=elsewhere.base_url, timeout_s=0.1)) as server:
            told = post(server.base_url, body_of())
        assert told.status == 504

    def test_an_hour_is_waited(self):
        assert Upstream(base_url="http://127.0.0.1:1/v1").timeout_s > 3600

    def test_the_same_request_twice_at_once_is_sent_once(self, recording, elsewhere):
        elsewhere.gate.clear()
        threading.Timer(0.3, elsewhere.gate.set).start()
        with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
            told = at_once(lambda _: post(server.base_url, body_of()).text, 4)
        assert told == ["reply 1"] * 4
        assert len(elsewhere.asked) == 1

    def test_different_requests_wait_side_by_side(self, tmp_path, recording, elsewhere):
        together = threading.Barrier(8, timeout=20)

        def answer(number):
            together.wait()  # broken unless all eight are waiting at the same time
            return 200, completion(f"reply {number}"), {}

        elsewhere.answer = answer
        with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
            told = at_once(lambda n: post(server.base_url, body_of(f"question {n}")).text, 8)
            assert len(server.report.recorded) == 8
        assert sorted(told) == [f"reply {n}" for n in range(1, 9)]
        assert len(Recording.open(tmp_path / "kept").entries) == 8

    def test_a_reply_that_comes_too_late_for_its_client_is_kept(self, recording, elsewhere):
        elsewhere.gate.clear()
        kept = recording()
        with ReplayServer(kept, upstream=elsewhere.base_url) as server:
            gone = threading.Thread(target=hang_up, args=(server.base_url, elsewhere))
            gone.start()
            gone.join()
            assert post(server.base_url, body_of()).text == "reply 1"
        assert len(elsewhere.asked) == 1
        assert [each.reply for each in kept.entries] == ["reply 1"]

    def test_a_reply_that_cannot_be_kept_is_told(self, recording, elsewhere, monkeypatch):
        monkeypatch.setattr("recollect_lab.recordings.recording.os.fsync", full)
        with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
            told = post(server.base_url, body_of())
        assert told.status == 500
        assert "disk is full" in told.problem


def full(_):
    raise OSError("the disk is full")


def hang_up(base_url, elsewhere):
    """Ask, and go away while the answer is being written; then let it be finished."""
    address, data = urlsplit(base_url), json.dumps(body_of()).encode()
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data)
        waiting = threading.Event()
        while not elsewhere.asked:
            waiting.wait(0.01)
    elsewhere.gate.set()
