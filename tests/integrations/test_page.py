"""The page on adapters cannot lie: its fences run, with a model that answers soundly in place of the one they name."""

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("langgraph")

from foreign_memories import concluded, known, settle

from recollect.app import models
from recollect.testing.models import FunctionModel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "integrations.md"
FENCE = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)


def answering(prompt, answer_type):
    first = known("It says so.", 1)
    return concluded("So it is.", 1) if prompt.operation == "memr3.answer" else settle("So it is.", first)


async def test_its_fences_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "build_model", lambda name, **how: FunctionModel(answering))
    text, namespace = PAGE.read_text("utf-8"), {"__name__": "__docs__"}
    fences = list(FENCE.finditer(text))
    assert len(fences) == 5
    for fence in fences:
        tree = ast.parse("\n" * text[: fence.start(1)].count("\n") + fence[1], filename=str(PAGE))
        code = compile(tree, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, namespace)
        if running is not None:
            await running
    told = capsys.readouterr().out
    assert "So it is. ['n2']" in told
    assert "Ada 2023-07-11 18:05:00+01:00" in told
    assert "['start']\n['retrieve']\n['generate']\n['router']\n['answer']\n['end']" in told
    assert '"text": "Toby, a brown dog"' in told


def test_it_tells_of_every_extra_and_adapter():
    text = PAGE.read_text("utf-8")
    for name in ("CallableRetriever", "Mem0Retriever", "LangGraphRetriever", "LangChainRetriever", "GraphitiRetriever"):
        assert name in text
    for name in ("ChromaRetriever", "BankStore", "BankRetriever", "memr3_graph", "answer_over"):
        assert name in text
