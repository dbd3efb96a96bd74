from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recollect.domain.messages import Role
from recollect.errors import MalformedLine
from recollect.formats import Format
from recollect.formats.chat import HEAD_LINES
from recollect.formats.speakers import split_speaker

from .conftest import NOW


@pytest.fixture
def said(read):
    def said(text, **options):
        return [(one.message.speaker, one.message.text) for one in read(text, format=Format.CHAT, **options)]

    return said


@pytest.fixture
def times(read):
    return lambda text, **options: [one.message.at for one in read(text, format=Format.CHAT, **options)]


def test_names_open_messages_and_other_lines_go_on(said):
    text = "Ada: hello\r\n  there\r\n\r\nlast line\r\n\r\nBram: hi\r\nAda:\r\nbelow\r\nBram：全角\r\n"
    assert said(text) == [("Ada", "hello\n  there\n\nlast line"), ("Bram", "hi"), ("Ada", "below"), ("Bram", "全角")]


def test_a_remark_is_no_speaker(said):
    text = "Ada: hello\nNote: remember\nMilk: two pints\nBram: hi\nmore\nBram: ho"
    assert said(text) == [("Ada", "hello\nNote: remember\nMilk: two pints"), ("Bram", "hi\nmore"), ("Bram", "ho")]


def test_where_each_line_has_a_name_each_is_a_speaker(said):
    assert said("Ada: hi\nBram: ho") == [("Ada", "hi"), ("Bram", "ho")]
    assert said("Ada: hi\nPS: x\nBram: ho") == [("Ada", "hi\nPS: x"), ("Bram", "ho")]


def test_a_name_with_a_time_is_known_without(said):
    text = "Ada: a\nb\n[2023-07-11 18:05] Bram: c\nd\n2023-07-11 18:06 - Cleo: e\nBram: f"
    assert said(text) == [("Ada", "a\nb"), ("Bram", "c\nd"), ("Cleo", "e"), ("Bram", "f")]


def test_roles(read):
    text = "User: a\nb\nAssistant: c\nd\nSystem: e\nSystem: f\nCLAUDE: g\nGpt: h"
    got = [(one.message.speaker, one.message.role) for one in read(text)]
    assert got == [
        ("User", Role.USER),
        ("Assistant", Role.ASSISTANT),
        ("System", Role.SYSTEM),
        ("System", Role.SYSTEM),
        ("CLAUDE", Role.ASSISTANT),
        ("Gpt", Role.ASSISTANT),
    ]


@pytest.mark.parametrize(
    "prefix",
    [
        "a" * 41,
        "one two three four five",
        "1st",
        "Well, Ada",
        "Really?",
        "",
        " Ada",
        "end.",
        "(Ada)",
    ],
)
def test_what_looks_like_no_name(prefix):
    assert split_speaker(f"{prefix}: words") is None


@pytest.mark.parametrize(
    "name", ["Ada", "Ada Lovelace", "O'Brien", "Dr. Smith", "अदिति", "עדה", "user_1", "Speaker 2", "a" * 40]
)
def test_what_looks_like_a_name(name):
    assert split_speaker(f"{name}: words: more") == (name, "words: more")


def test_a_colon_needs_a_space(said):
    assert split_speaker("https://example.org") is None
    assert said("Ada: at\n18:05\nhttps://x\nhttps://y") == [("Ada", "at\n18:05\nhttps://x\nhttps://y")]


@pytest.mark.parametrize(
    ("stamp", "hour", "minute", "second"),
    [
        ("[2023-07-11 18:05] ", 18, 5, 0),
        ("[2023-07-11T18:05:07Z] ", 18, 5, 7),
        ("[2023-07-11T20:05:07.123+02:00] ", 18, 5, 7),
        ("[2023/7/11, 6:05 PM] ", 18, 5, 0),
        ("\u200e[2023-07-11, 12:05:00\u202fa.m.] ", 0, 5, 0),
        ("2023-07-11 18:05 - ", 18, 5, 0),
        ("2023-07-11 – ", 0, 0, 0),
        ("[2023-07-11] ", 0, 0, 0),
    ],
)
def test_times(read, stamp, hour, minute, second):
    (spoken,) = read(f"{stamp}Ada: hello", format=Format.CHAT)
    assert spoken.message.at == datetime(2023, 7, 11, hour, minute, second, tzinfo=UTC)
    assert (spoken.session, spoken.message.speaker, spoken.message.text) == ("2023-07-11", "Ada", "hello")


def test_naive_times_are_in_the_zone_given(times):
    assert times("[2023-07-11 18:05] Ada: a", zone=ZoneInfo("Europe/London")) == [
        datetime(2023, 7, 11, 17, 5, tzinfo=UTC)
    ]


def test_untimed_messages_follow_the_last_time(times):
    noon = datetime(2023, 7, 11, 12, tzinfo=UTC)
    second = timedelta(seconds=1)
    text = "Ada: a\nAda: b\n[2023-07-11 12:00] Ada: c\nAda: d\nAda: e"
    assert times(text) == [NOW, NOW, noon, noon + second, noon + 2 * second]


def test_headings_open_sessions(read):
    text = "Ada: a\n# 2023-07-11\nAda: b\nAda: c\n--- 2023-07-11 18:00 ---\nAda: d\n== 2023-07-12T06:30 ==\nAda: e"
    got = [(one.session, one.message.at.isoformat()[:16]) for one in read(text)]
    assert got == [
        ("2024-05-01", "2024-05-01T12:00"),
        ("2023-07-11", "2023-07-11T00:00"),
        ("2023-07-11", "2023-07-11T00:00"),
        ("2023-07-11T18:00", "2023-07-11T18:00"),
        ("2023-07-12T06:30", "2023-07-12T06:30"),
    ]
    assert {one.session for one in read(text, session="mine")} == {"mine"}


@pytest.mark.parametrize(
    "line", ["# 1.2.3", "#2", "--- 11/07/2023 18:00 ---", "# 2023-07-11 was a day", "[1.2.10] Fix: x"]
)
def test_what_is_no_heading_and_no_time(said, line):
    assert said(f"Ada: hi\n{line}") == [("Ada", f"hi\n{line}")]


def test_exports_whose_days_can_be_told(times):
    first = datetime(2023, 7, 11, 18, 5, tzinfo=UTC)
    assert times("11/07/2023, 18:05 - Ada: a\n13/07/23, 18:05 - Ada: b") == [first, first + timedelta(days=2)]
    assert times("[7/11/23, 6:05:00\u202fPM] Ada: a\n[7/13/23, 6:05:00\u202fPM] Ada: b") == [
        first,
        first + timedelta(days=2),
    ]
    assert times("11.07.2023, 18:05 - Ada: a\n13.07.23, 18:05 - Ada: b")[0] == first


def test_notices_telephones_and_emoji(said):
    text = (
        "13/07/2023, 18:04 - Messages are encrypted, end to end. Tap: here\n"
        "13/07/2023, 18:05 - +44 7700 900123: a\n"
        "[13/07/2023, 18:06:00] ~\u202fAda 🌸: b\n"
        "[13/07/2023, 18:07:00] 🌸 Ada: c: d\n"
        "13/07/2023, 18:08 - Ada left"
    )
    assert said(text) == [
        ("system", "Messages are encrypted, end to end. Tap: here"),
        ("+44 7700 900123", "a"),
        ("Ada 🌸", "b"),
        ("🌸 Ada", "c: d"),
        ("system", "Ada left"),
    ]


def test_a_name_without_words_is_passed_over(said):
    assert said("Ada: \nBram: hi\nAda:\n") == [("Bram", "hi")]


def test_text_is_left_as_it_is(said):
    assert said("Ada: \0 😀 \u202bשלום\u202c x\ud800") == [("Ada", "\0 😀 \u202bשלום\u202c x\ufffd")]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\nsome prose\n", 2, "nobody says 'some prose'; a chat opens with a name"),
        ("Ada: a\n# 2023-07-11\nprose\n", 3, "nobody says 'prose'"),
        ("Ada: a\n[2023-13-11 18:05] Ada: b", 2, "no such date or time: '2023-13-11 18:05'"),
        ("Ada: a\n# 2023-02-30", 2, "no such date"),
        ("[2023-07-11 25:05] Ada: b", 1, "no such date or time"),
        ("[0001-01-01] Ada: b", 1, "end of the calendar"),
        ("Ada: a\n11/07/2023, 18:05 - Ada: b", 2, "day and month cannot be told apart.*write dates as 2023-07-11"),
        ("13/07/2023, 18:05 - Ada: a\n\n07/13/2023, 18:05 - Ada: b", 3, "line 1 has not; write dates as"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(read, text, line, problem):
    with pytest.raises(MalformedLine, match=problem) as caught:
        read(text, format=Format.CHAT)
    assert caught.value.line == line


def test_a_time_without_a_zone_is_refused_where_none_is_given(read):
    with pytest.raises(MalformedLine, match=r"line 2: .*no zone"):
        read("Ada: a\n[2023-07-11 18:05] Ada: b", zone=None)
    assert read("[2023-07-11 18:05Z] Ada: b", zone=None)


def test_dates_are_told_from_the_head_alone(read):
    line = "11/07/2023, 18:05 - Ada: a\n"
    assert len(read(line * (HEAD_LINES - 1) + "13/07/2023, 18:05 - Ada: b")) == HEAD_LINES
    with pytest.raises(MalformedLine, match=r"^line 1: "):
        read(line * HEAD_LINES + "13/07/2023, 18:05 - Ada: b")
    with pytest.raises(MalformedLine, match=f"^line {HEAD_LINES + 1}: .*no such date"):
        read("13/07/2023, 18:05 - Ada: a\n" * HEAD_LINES + "07/13/2023, 18:05 - Ada: b")
