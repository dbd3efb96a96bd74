"""The sample conversation that ships with the package is whole, ordered, and right about its own dates."""

import json
import re
from collections import Counter
from datetime import date, datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo

import pytest

CATEGORIES = {
    "single-hop",
    "multi-hop",
    "temporal",
    "open-domain",
    "knowledge-update",
    "preference",
    "unanswerable",
}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# (words in a message, the day they mean). Messages are found by their words, so that a renumbering does no harm.
PAST = {
    "We started on Monday": "2023-07-31",
    "last Thursday": "2023-07-27",
    "adopted a cat on Wednesday": "2023-10-11",
    "oven died on friday": "2023-10-13",
    "party on Friday": "2023-12-15",
    "live on Monday": "2024-01-15",
    "missed it on saturday": "2024-02-03",
    "on Monday morning": "2024-04-22",
    "way home on monday": "2024-06-17",
    "climbed on Sunday": "2024-06-16",
}
FUTURE = {
    "meet him on Saturday": "2023-07-15",
    "rolls on friday": "2023-09-08",
    "thirty-five on thursday": "2023-11-23",
    "signing on friday": "2024-05-24",
}
SHIFTED = {
    "prototype yesterday": (-1, "2023-09-05"),
    "meeting is tomorrow": (1, "2023-09-07"),
    "operated on yesterday": (-1, "2024-01-17"),
    "own stall, yesterday": (-1, "2024-03-09"),
    "two weeks ago": (-14, "2024-04-10"),
    "Eight days to Lisbon": (8, "2024-05-02"),
    "two days to go": (2, "2024-07-13"),
}


def rows(kind: str) -> list[dict]:
    text = (files("recollect.sample") / "conversation.jsonl").read_text(encoding="utf-8")
    return [row for row in map(json.loads, text.splitlines()) if row["type"] == kind]


def said_on(words: str) -> date:
    found = [row for row in rows("message") if words in row["text"]]
    assert len(found) == 1, f"{words!r} is in {len(found)} messages"
    return datetime.fromisoformat(found[0]["at"]).date()


def weekday_in(words: str) -> int:
    return next(i for i, day in enumerate(DAYS) if day in words.lower())


def first_of_month(weekday: str, year: int, month: int) -> date:
    day = date(year, month, 1)
    return day + timedelta(days=(DAYS.index(weekday) - day.weekday()) % 7)


def test_rows_are_json_objects_with_the_type_first():
    text = (files("recollect.sample") / "conversation.jsonl").read_text(encoding="utf-8")
    parsed = [json.loads(line) for line in text.splitlines()]
    assert all(next(iter(row)) == "type" for row in parsed)
    assert {row["type"] for row in parsed} == {"session", "message", "question"}


def test_there_is_enough_of_everything():
    assert len(rows("session")) >= 8
    assert len(rows("message")) >= 140
    assert len(rows("question")) >= 40
    counts = Counter(row["category"] for row in rows("question"))
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 5


@pytest.mark.parametrize("kind", ["session", "message", "question"])
def test_ids_are_unique(kind):
    ids = [row["id"] for row in rows(kind)]
    assert len(ids) == len(set(ids))


def test_two_people_and_an_assistant_speak():
    roles = {(row["speaker"], row["role"]) for row in rows("message")}
    assert roles == {("Ada", "user"), ("Bram", "user"), ("Iris", "assistant")}


def test_nothing_is_empty():
    for row in rows("message"):
        assert row["text"].strip()
        assert all(caption.strip() for caption in row.get("captions", ["none"]))
        assert row.get("captions") != []
    for row in rows("question"):
        assert row["text"].strip()
        assert row["answer"].strip()
    assert len({row["text"] for row in rows("question")}) == len(rows("question"))


@pytest.mark.parametrize("kind", ["session", "message", "question"])
def test_times_are_aware_and_in_order(kind):
    times = [datetime.fromisoformat(row["at"]) for row in rows(kind)]
    assert all(time.tzinfo is not None for time in times)
    assert times == sorted(times)
    in_britain = (time.replace(tzinfo=ZoneInfo("Europe/London")) for time in times)
    assert [time.utcoffset() for time in times] == [time.utcoffset() for time in in_britain]


def test_every_message_lies_in_its_session():
    sessions = {row["id"]: datetime.fromisoformat(row["at"]) for row in rows("session")}
    assert all(start.date().isoformat() == name for name, start in sessions.items())
    for row in rows("message"):
        since = datetime.fromisoformat(row["at"]) - sessions[row["session"]]
        assert timedelta() <= since < timedelta(hours=2)
    assert {row["session"] for row in rows("message")} == set(sessions)


def test_evidence_exists_and_precedes_the_question():
    said = {row["id"]: datetime.fromisoformat(row["at"]) for row in rows("message")}
    for row in rows("question"):
        assert len(row["evidence"]) == len(set(row["evidence"]))
        assert row["evidence"] == sorted(row["evidence"], key=said.__getitem__)
        assert all(said[name] < datetime.fromisoformat(row["at"]) for name in row["evidence"])


def test_a_question_is_unanswerable_exactly_when_it_has_no_evidence():
    for row in rows("question"):
        unanswerable = row["category"] == "unanswerable"
        assert unanswerable == (row["evidence"] == []) == (row["answer"] == "not mentioned")


def test_an_update_cites_the_old_and_the_new():
    assert all(len(row["evidence"]) >= 2 for row in rows("question") if row["category"] == "knowledge-update")


@pytest.mark.parametrize(("words", "day"), PAST.items())
def test_a_past_weekday_is_the_nearest_before(words, day):
    back = (said_on(words).weekday() - weekday_in(words)) % 7 or 7
    assert said_on(words) - timedelta(days=back) == date.fromisoformat(day)


@pytest.mark.parametrize(("words", "day"), FUTURE.items())
def test_a_coming_weekday_is_the_nearest_after(words, day):
    ahead = (weekday_in(words) - said_on(words).weekday()) % 7 or 7
    assert said_on(words) + timedelta(days=ahead) == date.fromisoformat(day)


@pytest.mark.parametrize(("words", "shift"), SHIFTED.items())
def test_a_counted_distance_reaches_its_day(words, shift):
    days, day = shift
    assert said_on(words) + timedelta(days=days) == date.fromisoformat(day)


def test_month_rules_agree_with_the_calendar():
    assert first_of_month("thursday", 2023, 9) == said_on("First meeting is tomorrow") + timedelta(days=1)
    assert first_of_month("tuesday", 2024, 2) == said_on("It's The Remains of the Day tonight")
    planned = first_of_month("saturday", 2024, 3)
    assert planned + timedelta(weeks=1) == date(2024, 3, 9)
    assert date(2024, 3, 4) - planned == timedelta(days=2)  # "two openings within three days"


def test_weekdays_in_answers_agree_with_the_calendar():
    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    pattern = re.compile(rf"({'|'.join(DAYS)}) (\d+) ({months}) (\d{{4}})", re.IGNORECASE)
    named = [match for row in rows("question") for match in pattern.findall(row["answer"])]
    assert len(named) >= 8
    for weekday, day, month, year in named:
        number = months.split("|").index(month) + 1
        assert date(int(year), number, int(day)).weekday() == DAYS.index(weekday.lower())
