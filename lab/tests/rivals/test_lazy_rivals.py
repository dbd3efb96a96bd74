"""The frameworks of rivals are imported on use, and a missing one is named with its extra."""

import pytest
from test_lazy import FRAMEWORKS, ran

RUN = """
import asyncio
from recollect_lab.rivals import run_adapter
asyncio.run(run_adapter('http://localhost:1/v1', {!r}))"""


def test_importing_the_rivals_imports_no_framework():
    assert ran(f"import recollect_lab.rivals\nprint([name for name in {FRAMEWORKS!r} if name in sys.modules])") == "[]"


@pytest.mark.parametrize(("backend", "package"), [("mem0", "mem0ai"), ("langgraph", "langgraph")])
def test_a_missing_rival_is_named_with_its_extra(backend, package):
    told = f"recollect.errors.MissingExtra: {package} is not installed; run: pip install 'recollect[{backend}]'"
    assert ran(RUN.format(backend), backend) == told
