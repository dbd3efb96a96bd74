"""Replies in a folder: kept, sorted, dropped, and never half written."""

import json
import threading

import pytest
from replay_fakes import body_of, entry

from recollect.errors import InvalidInput, MalformedLine
from recollect_lab.recordings import Recording, list_recordings, open_recording_folder
from recollect_lab.recordings import shipped as folders
from recollect_lab.recordings.recorded_reply import dump_reply, read_request_key


def lines_of(folder):
    return [json.loads(line) for line in (folder / "replies.jsonl").read_text("utf-8").splitlines()]


def test_what_is_kept_is_there_when_it_is_opened_again(tmp_path, recording):
    first, second = entry("one"), entry("two")
    recording(first, second)
    again = Recording.open(tmp_path / "kept")
    assert {kept.asked.key for kept in again.entries} == {first.asked.key, second.asked.key}
    assert again.get(first.asked.key) == first
    assert again.get("0" * 16) is None


def test_the_file_is_sorted_by_role_subject_operation(tmp_path, recording):
    places = [("reflect", "a", "s1"), ("extract", "b", "s2"), ("extract", "z", "s1"), ("extract", "a", "s1")]
    recording(*(entry(place=place, text=str(place)) for place in places))
    read = [(line["role"], line["subject"], line["operation"]) for line in lines_of(tmp_path / "kept")]
    assert read == sorted(read)
    assert len(read) == 4


def test_a_reply_to_the_same_request_takes_the_place_of_the_old_one(tmp_path, recording):
    kept = recording(entry(reply="old"), entry(reply="new"))
    assert [each.reply for each in kept.entries] == ["new"]
    assert len(lines_of(tmp_path / "kept")) == 1


def test_what_is_not_used_is_dropped_and_given_back(tmp_path, recording):
    one, two = entry("one"), entry("two")
    kept = recording(one, two)
    assert kept.prune({one.asked.key}) == (two,)
    assert kept.entries == Recording.open(tmp_path / "kept").entries == (one,)
    assert kept.prune({one.asked.key, "unknown"}) == ()


def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(tmp_path, recording, monkeypatch):
    kept = recording(entry("one"))
    before = (tmp_path / "kept" / "replies.jsonl").read_bytes()
    monkeypatch.setattr("recollect_lab.recordings.recording.os.fsync", fail)
    with pytest.raises(OSError, match="full"):
        kept.add(entry("two"))
    with pytest.raises(OSError, match="full"):
        kept.prune(())
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["replies.jsonl"]
    assert (tmp_path / "kept" / "replies.jsonl").read_bytes() == before
    assert len(kept.entries) == 1


def fail(_):
    raise OSError("the disk is full")


def test_many_threads_keep_without_losing_any(tmp_path, recording):
    kept = recording()
    threads = [threading.Thread(target=kept.add, args=(entry(f"question {n}"),)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept.entries) == len(Recording.open(tmp_path / "kept").entries) == 24


def test_no_recording_is_told_unless_it_is_to_be_made(tmp_path):
    with pytest.raises(InvalidInput, match="no recording"):
        Recording.open(tmp_path / "none")
    made = Recording.open(tmp_path / "none", create=True)
    assert made.entries == ()
    assert not (tmp_path / "none").exists()


def test_a_key_that_is_there_twice_is_told(tmp_path):
    (tmp_path / "replies.jsonl").write_bytes(dump_reply(entry()) + b"\n" + dump_reply(entry(reply="other")))
    with pytest.raises(MalformedLine, match="twice") as caught:
        Recording.open(tmp_path)
    assert caught.value.line == 3


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "replies.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="cannot read"):
        Recording.open(tmp_path)


class TestStandIn:
    """Which reply takes the place of one that was never recorded."""

    def found(self, kept, body):
        found = kept.find_stand_in(read_request_key(body), body)
        return found and found.reply

    def test_it_has_the_same_role_operation_and_subject(self, recording):
        kept = recording(entry("old words", place=("extract", "x", "s1")))
        assert self.found(kept, body_of("new words", place=("extract", "x", "s1"))) == "Ada."
        for place in [("reflect", "x", "s1"), ("extract", "y", "s1"), ("extract", "x", "s2")]:
            assert self.found(kept, body_of("old words", place=place)) is None

    def test_without_tags_there_is_none(self, recording):
        kept = recording(entry("old words", place=None), entry("old", place=("extract", "", "s")))
        assert self.found(kept, body_of("new words", place=None)) is None
        assert self.found(kept, body_of("new", place=("extract", "", "s"))) is None

    def test_of_several_the_likest_is_taken(self, recording):
        kept = recording(entry("Ada likes tea and Toby", reply="tea"), entry("Ben rides a bicycle home", reply="bike"))
        assert self.found(kept, body_of("Ben rides his bicycle")) == "bike"
        assert self.found(kept, body_of("Does Ada drink tea?")) == "tea"

    def test_a_conversation_of_the_same_length_goes_first(self, recording):
        kept = recording(entry("Ada likes tea", reply="short"))
        body = body_of("Ada likes tea")
        longer = {**body, "messages": [*body["messages"], {"role": "assistant", "content": "?"}] * 2}
        kept.add(entry_for(longer, "long"))
        assert self.found(kept, body_of("Something else")) == "short"
        changed = {**longer, "messages": [{"role": "user", "content": "Ada likes tea"}] * 3}
        assert self.found(kept, changed) == "long"

    def test_contents_in_parts_are_read(self, recording):
        kept = recording(entry("tea", reply="tea"), entry("bicycle", reply="bike"))
        parts = [{"role": "user", "content": [{"type": "text", "text": "which bicycle"}]}]
        assert self.found(kept, {**body_of(), "messages": parts}) == "bike"


def entry_for(body, reply):
    made = entry(reply=reply)
    return type(made)(asked=read_request_key(body), model="m", request={"messages": body["messages"]}, reply=reply)


class TestShipped:
    @pytest.fixture(autouse=True)
    def _shipped(self, tmp_path, monkeypatch):
        for name, file in (("full", "replies.jsonl"), ("planned", "README.md"), ("__pycache__", "entry.pyc")):
            (tmp_path / name).mkdir()
            (tmp_path / name / file).touch()
        monkeypatch.setattr(folders, "files", lambda _: tmp_path)

    def test_names_are_folders_with_replies_or_a_page(self):
        assert list_recordings() == ("full", "planned")

    def test_a_name_is_a_folder(self, tmp_path):
        with open_recording_folder("full") as folder:
            assert folder == tmp_path / "full"

    @pytest.mark.parametrize("name", ["none", "", "..", "full/../planned"])
    def test_an_unknown_name_is_told(self, name):
        with pytest.raises(InvalidInput, match="full, planned"), open_recording_folder(name):
            pass


def test_every_shipped_recording_can_be_read():
    for name in list_recordings():
        with open_recording_folder(name) as folder:
            assert Recording.open(folder, create=True).entries is not None
