"""The page of promises names tests that exist, and each promise names one."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "explanation" / "promises.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:lab/)?tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
PROMISES = re.split(r"^\*\*", PAGE, flags=re.M)[1:]


@pytest.mark.parametrize(("file", "test"), NAMED, ids=["::".join(one) for one in NAMED])
def test_a_named_test_exists(file, test):
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert not test or test in names


@pytest.mark.parametrize("promise", PROMISES, ids=[promise[:40] for promise in PROMISES])
def test_a_promise_says_what_it_does_not_cover_and_names_a_test(promise):
    assert "It does not cover" in promise
    assert "*Tests:* `" in promise


def test_there_are_promises():
    assert len(PROMISES) > 15
    assert len(NAMED) > len(PROMISES)
