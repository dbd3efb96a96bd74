import json

import pytest

from recollect.formats import Format, detect_format


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('{"type": "message", "text": "hi"}', Format.JSONL),
        ('\ufeff\n  {"role": "user", "content": "hi"}\n{"role": "user", "content": "ho"}', Format.JSONL),
        ('{"text": "a very long line that is cut off he', Format.JSONL),
        ("{not json at all}", Format.JSONL),
        (json.dumps({"text": 'they wrote {"messages": [] }'}), Format.JSONL),
        ('{"messages": []}', Format.OPENAI),
        ('{"messages": [{"role": "user", "content": "cut off he', Format.OPENAI),
        ("{\n", Format.OPENAI),
        ('{"id": "x",\n"messages": []}', Format.OPENAI),
        ("[", Format.OPENAI),
        ('[\n  {"role": "user"}', Format.OPENAI),
        ("[]", Format.OPENAI),
        ("[2023-07-11 18:05] Ada: hello", Format.CHAT),
        ("[Ada] hello", Format.CHAT),
        ("Ada: hello", Format.CHAT),
        ("", Format.CHAT),
        ("{" * 100_000, Format.OPENAI),
    ],
)
def test_the_beginning_tells_the_format(head, expected):
    assert detect_format(head) is expected


@pytest.mark.parametrize(
    "text",
    [
        '\n\n{"text": "hi"}\n',
        '[\n{"role": "user", "content": "hi"}\n]',
        '{\n"messages": [{"role": "user", "content": "hi"}]\n}',
        "\r\nuser: hi\r\n",
    ],
)
def test_reading_detects(read, text):
    (spoken,) = read(text)
    assert (spoken.message.speaker, spoken.message.text) == ("user", "hi")


def test_a_format_that_is_given_is_taken(read):
    assert read('Ada: {"text": "hi"}', format=Format.CHAT)[0].message.speaker == "Ada"
    assert read('{"text": "hi"}', format="jsonl")[0].message.text == "hi"
