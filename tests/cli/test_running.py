import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from recollect.app import (
    Memory,
    Settings,
    build_embedder,
    build_reranker,
    configure_recipe,
    load_settings,
    open_memory,
)
from recollect.cli.output import format_table, indent_text, make_printable, truncate_text
from recollect.cli.runtime import Commands, has_model, report_failure
from recollect.errors import InvalidInput, StoreUnavailable
from recollect.models.embedders.endpoint import EndpointEmbedder
from recollect.models.embedders.sentence_transformers import SentenceTransformerEmbedder
from recollect.models.rerankers.cross_encoder import CrossEncoderReranker
from recollect.models.rerankers.endpoint import EndpointReranker
from recollect.recall.settings import Arm


def test_help_and_version_are_instant_and_import_nothing_heavy(process):
    code = (
        "import sys; from recollect.cli import app\n"
        "try: app(['--help'])\n"
        "finally: print(sorted({'numpy', 'rich', 'wordllama', 'sqlite3', 'dateparser'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert process("--version").out.startswith("recollect ")


def test_importing_the_package_is_instant():
    code = "import sys, recollect; print(sorted({'numpy', 'typer', 'sqlite3'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def wait_until_idle(pid):
    """Return when a process has used no processor for a second: it waits for its input."""
    spent, since = None, time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.05)
        now = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
        if now != spent:
            spent, since = now, time.monotonic()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that a process waits")
def test_ctrl_c_while_standard_input_is_waited_for(tmp_path):
    command = [sys.executable, "-m", "recollect", "retain", "-", "--format", "jsonl", "--session", "s"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        # A shell that runs the tests in the background has its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as waiting:
        deadline = time.monotonic() + 30
        while not (tmp_path / "recollect-data" / "default.bank").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        wait_until_idle(waiting.pid)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(20) == 130
        assert waiting.stderr.read() == b"interrupted; 0 messages kept\n"


def test_a_reader_that_has_seen_enough_gets_no_traceback(filled, tmp_path):
    command = f"{sys.executable} -m recollect export - | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert done.stdout == '{"type": "'
    assert "Traceback" not in done.stderr


def test_a_terminal_of_ascii_is_written_to(process, filled):
    env = {"PYTHONIOENCODING": "ascii"}
    assert process("demo", env=env).code == 0
    assert process("recall", "naïve café", "--json", env=env).json()["evidence"]


def test_an_error_is_one_line(capsys):
    raised = report_failure("two\nlines \x1b[2J")
    assert isinstance(raised, typer.Exit)
    assert raised.exit_code == 1
    assert capsys.readouterr().err == "error: two lines \ufffd[2J\n"


def test_an_error_of_one_of_several_tasks_is_one_line_too(capsys):
    root = typer.Typer(cls=Commands)

    @root.command()
    def broken():
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [StoreUnavailable("the disk\nis full")])])

    @root.command()
    def wrong():
        raise ExceptionGroup("tasks", [StoreUnavailable("full"), ZeroDivisionError()])

    done = CliRunner().invoke(root, ["broken"])
    assert (done.exit_code, done.stderr) == (1, "error: the disk is full\n")
    done = CliRunner().invoke(root, ["wrong"])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: this is a mistake in recollect, please report it: ExceptionGroup")


@pytest.mark.parametrize(
    ("environ", "there"),
    [
        ({}, False),
        ({"RECOLLECT_MODEL": "none"}, False),
        ({"RECOLLECT_MODEL": "openai:x"}, True),
        ({"RECOLLECT_MODEL_EXTRACT": "openai:x"}, True),
    ],
)
def test_whether_a_model_is_configured(environ, there):
    assert has_model(load_settings(environ)) is there


def test_a_store_that_is_a_file_is_an_error(cli, chat):
    done = cli("retain", chat, "--store", chat)
    assert done.code == 1
    assert "is a file" in done.err


def test_a_store_that_is_an_address_is_an_error(cli, chat):
    done = cli("retain", chat, "--store", "postgresql://localhost/x")
    assert done.code == 1
    assert "a store is a folder" in done.err


@pytest.mark.skipif(os.name == "nt", reason="no /dev/full")
def test_a_full_disk_is_an_error_in_one_line(cli, filled):
    done = cli("export", "/dev/full")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith("error: ")


def test_the_environment_gives_settings_and_empty_values_give_none():
    environ = {"RECOLLECT_STORE": "s", "RECOLLECT_EMBEDDER": "", "RECOLLECT_API_KEY": "sk-1"}
    settings = load_settings(environ)
    assert (settings.store, settings.embedder, settings.reranker) == ("s", None, "none")
    assert "sk-1" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "embedder"),
    [
        ("wordllama", "wordllama-256"),
        ("wordllama-128", "wordllama-128"),
        ("wordllama-64", "wordllama-64"),
    ],
)
def test_wordllama_by_name(name, embedder):
    assert build_embedder(name).name == embedder


def test_other_embedders_by_name(tmp_path):
    endpoint = build_embedder("endpoint:org/model@2@http://localhost:8000/v1", api_key="k")
    assert isinstance(endpoint, EndpointEmbedder)
    assert endpoint.name == "org/model@2"
    assert isinstance(build_embedder(f"st:{tmp_path}"), SentenceTransformerEmbedder)
    assert build_embedder("st:all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"


def test_rerankers_by_name():
    assert build_reranker("none") is None
    assert isinstance(build_reranker("endpoint:m@https://host/v1"), EndpointReranker)
    assert isinstance(build_reranker("st:cross"), CrossEncoderReranker)


@pytest.mark.parametrize("name", ["", "glove", "st:", "endpoint:m", "endpoint:@http://x", "wordllama-512"])
def test_unknown_names_are_refused(name):
    with pytest.raises(InvalidInput, match="one of"):
        build_embedder(name)
    with pytest.raises(InvalidInput, match="one of"):
        build_reranker(name)


async def test_memory_is_opened_from_settings(tmp_path):
    settings = Settings(store=str(tmp_path / "m"), arms=(Arm.LEXICAL,), recipe="tempr")
    assert configure_recipe(settings).recall.arms == (Arm.LEXICAL,)
    async with await open_memory(settings) as memory:
        assert isinstance(memory, Memory)
        await memory.bank("a")
        assert (await memory.info("a")).messages == 0


def test_text_is_shown_and_never_obeyed():
    assert make_printable("a\x1b[31mb\u202ec\r\nd\te") == "a\ufffd[31mb\ufffdc\nd\te"
    assert truncate_text("one  two\nthree", 9) == "one two…"
    assert indent_text("a\nb", "> ") == "> a\n> b"
    assert format_table([("a", "bb"), ("ccc", "d")], right=(1,)) == "a    bb\nccc   d"


def test_the_help_names_every_recipe():
    from recollect.cli import options
    from recollect.recipes import RECIPES

    told = options.Recipe.__metadata__[0].help
    assert [name for name in RECIPES if name not in told.replace(",", "").replace(";", "").split()] == []
