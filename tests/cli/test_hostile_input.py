"""No traceback leaves the command line, whatever it is given."""

import os
import random
import subprocess
import sys

import pytest

VALUES = [
    "", " ", "\0", "-1", "0", "1" * 40, "nan", "inf", "x" * 5_000, "\x1b[2J", "../x", "0001", "0001-01-01",
    "9999-12-31", "9999-12-31T23:59:59-23:59", "+99:99", "Europe/Nowhere", "[" * 3_000, "{}", "\ud83d", "«" * 300,
    "-", ".", "/dev/null",
]  # fmt: skip
COMMANDS = {
    "recall": ["--limit", "--max-tokens", "--effort", "--kind", "--session", "--since", "--until", "--as-of", "--now",
               "--zone", "--bank", "--recipe", "--arms", "--exclude"],
    "ask": ["--limit", "--recipe", "--now", "--zone", "--bank"],
    "retain": ["--format", "--session", "--zone", "--bank"],
    "forget": ["--message", "--session", "--speaker", "--entity", "--since", "--until", "--zone", "--bank", "--fact"],
    "export": ["--bank"],
    "import": ["--bank"],
    "banks": ["--drop"],
    "jobs": ["--state", "--show", "--retry", "--drop", "--bank"],
    "merges": ["--undo", "--bank"],
    "calibrate": ["--share", "--bank"],
    "profile": ["--name", "--background", "--bank"],
    "opinions": ["--bank"],
    "costs": ["--bank"],
    "rebuild": ["--bank"],
}  # fmt: skip
HAS_ARGUMENT = {"recall", "ask", "retain", "export", "import"}
HEADER = '{"type": "bank", "format": 3, "bank": "b", "embedder": "none", "dimension": 0}'
FILES = [
    b"\xff\xfe\xff",
    b"[" * 100_000,
    b'{"text": ' + b"[" * 100_000,
    b'{"text": "a", "at": "0001-01-01T00:00:00Z"}',
    b'{"text": "a", "at": 1e400}',
    b'{"text": {"a": 1}, "speaker": []}',
    b'{"text": "a\\u0000", "id": "\\u0000"}',
    b'{"text": "\\ud83d"}',
    f"{HEADER}\n{'[' * 100_000}".encode(),
    f'{HEADER}\n{{"type": []}}'.encode(),
    f"{HEADER}\n".encode() + b"\xff",
    f'{HEADER}\n{{"type": "message", "id": {"[" * 500}{"]" * 500}}}'.encode(),
    HEADER.replace("0}", "-1}").encode(),
    HEADER.replace('"none"', "[]").encode(),
]


@pytest.fixture(autouse=True)
def _without_an_embedder(monkeypatch):
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")


def assert_told(done):
    assert done.code in (0, 1, 2, 3)
    assert "Traceback" not in done.err
    assert "mistake in recollect" not in done.err


def list_command_lines():
    every = [
        (command, option, value) for command, options in COMMANDS.items() for option in options for value in VALUES
    ]
    return random.Random(12).sample(every, 160)


@pytest.mark.parametrize("part", range(8))
def test_options_of_any_value(cli, filled, part):
    for command, option, value in list_command_lines()[part::8]:
        argument = ["-"] if command in HAS_ARGUMENT else []
        if command == "recall":
            argument = [value or "hi"]
        yes = ["--yes"] if command in ("forget", "banks") else []
        assert_told(cli(command, *argument, f"{option}={value}", *yes, stdin="Ada: hello\n"))


@pytest.mark.parametrize("command", ["retain", "import"])
@pytest.mark.parametrize("file", FILES)
def test_files_of_any_content(cli, tmp_path, command, file):
    path = tmp_path / "file"
    path.write_bytes(file)
    assert_told(cli(command, path, "--bank", "other"))


@pytest.mark.parametrize("command", ["retain", "import", "export"])
@pytest.mark.parametrize("file", [".", "/nowhere/x", "a\0b", "x" * 5_000, ""])
def test_files_that_cannot_be_opened(cli, filled, command, file):
    assert_told(cli(command, file, "--bank", "default" if command == "export" else "other"))


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
@pytest.mark.parametrize("command", [["retain", "-"], ["import", "-"], ["export", "-"], ["recall", "Toby"], ["banks"]])
def test_closed_streams(filled, tmp_path, command, closed):
    number = {"stdin": 0, "stdout": 1, "stderr": 2}[closed]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(
        [sys.executable, "-m", "recollect", *command],
        **streams,
        preexec_fn=lambda: os.close(number),
        cwd=tmp_path,
        env={**os.environ, "RECOLLECT_EMBEDDER": "none"},
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"Traceback" not in done.stdout
