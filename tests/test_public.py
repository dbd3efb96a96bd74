"""The public surface: its names, its parameters, what importing costs, and the tree of errors."""

import dataclasses
import inspect
import re
import subprocess
import sys
from datetime import datetime

import pytest

import recollect
from recollect import errors
from recollect.domain.recalls import Evidence
from recollect.memory.query_options import RecallOptions

PINNED = [
    "Answer",
    "Bank",
    "Disposition",
    "Fact",
    "Interval",
    "Memory",
    "Message",
    "Precision",
    "Profile",
    "RecollectError",
    "Role",
]


def parameters(function):
    """Its parameters' names with their defaults, and those that may be given by place."""
    given = {name: p for name, p in inspect.signature(function).parameters.items() if name != "self"}
    by_place = [name for name, p in given.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    return {name: p.default for name, p in given.items()}, by_place


def test_the_public_names_are_pinned():
    assert recollect.__all__ == PINNED
    for name in PINNED:
        assert getattr(recollect, name).__doc__, name
    with pytest.raises(AttributeError, match="Nothing"):
        recollect.Nothing  # noqa: B018
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", recollect.__version__)


@pytest.mark.parametrize(
    ("owner", "method", "by_place", "others"),
    [
        ("Memory", "open", ["store"], {"embedder", "reranker", "recipe", "model", "limits", "worker", "clock"}),
        ("Memory", "bank", ["name"], {"create"}),
        ("Memory", "banks", [], set()),
        ("Memory", "drop", ["name"], set()),
        ("Memory", "close", [], set()),
        ("Bank", "retain", ["messages"], {"session", "wait"}),
        (
            "Bank",
            "recall",
            ["text"],
            {"limit", "max_tokens", "effort", "kinds", "sessions", "speakers", "during", "as_of", "exclude", "now"},
        ),
        ("Bank", "ask", ["question"], {"recipe"}),
        ("Bank", "reflect", ["question"], {"recipe"}),
        ("Bank", "opinions", [], {"entity"}),
        ("Bank", "observations", [], {"entity"}),
        ("Bank", "forget", [], {"messages", "session", "speaker", "entity", "during", "facts"}),
        ("Bank", "add_facts", ["facts"], set()),
    ],
)
def test_the_designs_methods_take_what_it_says(owner, method, by_place, others):
    all_of, places = parameters(getattr(getattr(recollect, owner), method))
    assert places == by_place
    assert all_of.keys() - set(by_place) >= others
    optional = all_of.keys() - set(by_place) - {"narrowed"}
    assert all(all_of[name] is not inspect.Parameter.empty for name in optional)


def test_asking_is_narrowed_as_recalling_is():
    recalled, _ = parameters(recollect.Bank.recall)
    assert RecallOptions.__annotations__.keys() == recalled.keys() - {"text", "timeout"}


def test_an_answer_has_the_designs_fields():
    fields = {field.name for field in dataclasses.fields(recollect.Answer)}
    assert {"text", "citations", "evidence", "trace", "receipt", "abstained"} <= fields


def test_banks_and_recalls_are_awaited():
    for owner, names in (
        ("Memory", "bank banks drop close"),
        ("Bank", "retain recall ask reflect forget messages info"),
    ):
        for name in names.split():
            assert inspect.iscoroutinefunction(getattr(getattr(recollect, owner), name)), name
    assert not inspect.iscoroutinefunction(recollect.Memory.open)


def test_evidence_has_the_designs_fields():
    assert {"text", "occurred", "score", "sources"} <= {field.name for field in dataclasses.fields(Evidence)}


def test_a_message_has_the_designs_fields():
    names = [field.name for field in dataclasses.fields(recollect.Message)]
    assert names == ["text", "speaker", "role", "at", "id", "captions", "important"]
    assert recollect.Message(text="x", at=datetime.now().astimezone()).role is recollect.Role.USER


HEAVY = (
    "pydantic pydantic_ai openai numpy wordllama tokenizers safetensors dateparser dateutil typer rich rapidfuzz "
    "usearch Stemmer sqlite3 httpx"
)


def test_importing_costs_next_to_nothing():
    code = f"import sys, recollect; print(*[name for name in {HEAVY.split()!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


def test_every_error_is_drawn_where_it_stands():
    drawn, path = {}, []
    for line in errors.__doc__.splitlines():
        match = re.match(r"    ((?:[│ ]   )*)(?:[├└]── )?([A-Z]\w+)(?:  +\S|$)", line)
        if match:
            depth = 0 if "──" not in line else len(match[1]) // 4 + 1
            path[depth:] = [match[2]]
            drawn[match[2]] = path[depth - 1] if depth else None
    classes = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BaseException) and kind.__module__ == errors.__name__
    }
    assert drawn.keys() == classes.keys()
    for name, parent in drawn.items():
        assert parent is None or classes[parent] in classes[name].__bases__, name
        assert classes[name].__doc__, name
    assert [name for name, parent in drawn.items() if parent is None] == ["RecollectError"]
