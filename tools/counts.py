"""Count modules, classes, functions and lines of Python below each given folder, and print one JSON object for each.

    python tools/counts.py src/recollect lab/src/recollect_lab

A line of code is a line that is not blank, not a comment and not part of a docstring. The length of a function counts
all its lines, from ``def`` to its last statement.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def count_folder(folder: Path) -> dict[str, object]:
    """Return the counts of all modules below a folder. Lengths of functions and modules are quantiles, in lines."""
    sources = [path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        "folder": folder.as_posix(),
        "modules": len(sources),
        "modules_under_45_lines": sum(len(source.splitlines()) < 45 for source in sources),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "functions": len(functions),
        "lines": sum(len(source.splitlines()) for source in sources),
        "lines_of_code": sum(len(code_lines(source)) for source in sources),
        "function_lines": quantiles([(node.end_lineno or 0) - node.lineno + 1 for node in functions]),
        "module_lines": quantiles([len(source.splitlines()) for source in sources]),
    }


def code_lines(source: str) -> list[str]:
    """Return the lines of a module that are code."""
    documentation = {number for node in ast.walk(ast.parse(source)) for number in docstring_lines(node)}
    numbered = enumerate(source.splitlines(), start=1)
    return [
        line
        for number, line in numbered
        if line.strip() and not line.lstrip().startswith("#") and number not in documentation
    ]


def docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the numbers of the lines of a node's docstring."""
    if isinstance(node, (*DEFINITIONS, ast.Module)) and ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def quantiles(values: Sequence[int]) -> dict[str, int]:
    """Return the median, the 90th and 99th percentiles by nearest rank, and the maximum. All are 0 if there are no
    values.
    """
    ordered = sorted(values) or [0]
    ranks = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    found = {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in ranks.items()}
    return {**found, "max": ordered[-1]}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(json.dumps(count_folder(Path(argument)), indent=2))
