"""Other frameworks are imported on use, and a missing one is named with its extra."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

FRAMEWORKS = ("langgraph", "langchain_core", "mem0", "graphiti_core", "chromadb", "qdrant_client", "posthog")


def ran(code, *missing):
    """What a program prints where these packages are not installed."""
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in missing)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{hidden}{code}"], capture_output=True, text=True, timeout=100, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_importing_the_room_imports_no_framework():
    modules = "import recollect.integrations, recollect.integrations.mem0, recollect.integrations.chroma\n"
    modules += "import recollect.integrations.graphiti\n"
    assert ran(f"{modules}print([name for name in {FRAMEWORKS!r} if name in sys.modules])") == "[]"


@pytest.mark.parametrize(
    ("code", "missing", "package", "extra"),
    [
        ("import recollect.integrations.langgraph", ("langgraph",), "langgraph", "langgraph"),
        ("import recollect.integrations.langgraph", ("langchain_core",), "langgraph", "langgraph"),
        ("import recollect.integrations.langchain", ("langchain_core",), "langchain-core", "langchain"),
        (
            "from recollect.integrations.graphiti import GraphitiRetriever\nGraphitiRetriever(None)",
            ("graphiti_core",),
            "graphiti-core",
            "graphiti",
        ),
    ],
)
def test_a_missing_package_is_named_with_its_extra(code, missing, package, extra):
    told = f"recollect.errors.MissingExtra: {package} is not installed; run: pip install 'recollect[{extra}]'"
    assert ran(code, *missing) == told


def test_the_extras_that_are_named_are_there():
    root = Path(__file__).resolve().parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {"langgraph", "langchain", "mem0", "graphiti", "chroma"} <= extras.keys()
