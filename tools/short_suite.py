"""Run the short suite (``tests/short``) in separate environments.

    python tools/short_suite.py pythons    # on every other CPython that the package supports and this machine has
    python tools/short_suite.py lowest     # on this Python, with the lowest versions of the direct dependencies

The environments are in ``build/short``. They are made again when ``pyproject.toml`` or the interpreter changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "build" / "short"
SUITE = "tests/short"

FACTS = """
import json, sys, sysconfig
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "final": sys.version_info.releaselevel == "final",
    "cpython": sys.implementation.name == "cpython",
    "threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python on this machine. ``unfit`` is the reason why the suite does not run on it, or "" if the suite runs on
    it.
    """

    path: Path
    version: tuple[int, ...]
    unfit: str

    def __str__(self) -> str:
        return f"Python {'.'.join(map(str, self.version))} ({self.path})"


def read_project() -> dict[str, object]:
    """Return the table ``project`` of ``pyproject.toml``."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def find_interpreters() -> list[Interpreter]:
    """Return one interpreter for each minor version, the oldest version first. Each is the newest patch of its
    version.
    """
    found: dict[tuple[int, ...], Interpreter] = {}
    for path in _candidates():
        one = _interpreter(path)
        if one is None:
            continue
        known = found.get(one.version[:2])
        if known is None or (not one.unfit, one.version) > (not known.unfit, known.version):
            found[one.version[:2]] = one
    return [found[version] for version in sorted(found)]


def _candidates() -> Iterator[Path]:
    """Yield the paths of possible interpreters: in the folders of ``PATH``, and in the folders of pyenv and uv."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield from sorted(path for path in Path(folder).glob("python3.*") if re.fullmatch(r"python3\.\d+", path.name))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    for versions in (pyenv / "versions", uv):
        yield from sorted(versions.glob("*/bin/python3"))


def _interpreter(path: Path) -> Interpreter | None:
    """Return the interpreter, or ``None`` if the file is not one, such as a shim of pyenv that is switched off."""
    try:
        done = subprocess.run([path, "-c", FACTS], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    facts = json.loads(done.stdout)
    version = tuple(facts["version"])
    unfit = (
        ("older than the package supports" if version[:2] < _oldest() else "")
        or ("" if facts["cpython"] else "not CPython")
        or ("" if facts["final"] else "not released yet")
        or ("free-threaded" if facts["threaded"] else "")
        or ("the whole suite runs on this version" if version[:2] == sys.version_info[:2] else "")
    )
    return Interpreter(path=path, version=version, unfit=unfit)


def _oldest() -> tuple[int, ...]:
    required = str(read_project()["requires-python"])
    return tuple(map(int, required.removeprefix(">=").split(".")))


def lowest_versions(requirements: Iterable[str]) -> list[str]:
    """Return constraints that pin each requirement to its lower bound: ``numpy==1.26`` for ``numpy>=1.26,<3``.

    Raises:
        ValueError: a requirement has no lower bound.
    """
    constraints = []
    for requirement in requirements:
        words, _, marker = requirement.partition(";")
        found = re.fullmatch(r"([\w.-]+)(?:\[[^\]]*\])?\s*(?:>=|==)\s*([\w.]+)(?:,.*)?", words.strip())
        if found is None:
            raise ValueError(f"the requirement {requirement!r} has no lower bound")
        constraints.append(f"{found[1]}=={found[2]}" + (f" ; {marker.strip()}" if marker else ""))
    return constraints


def make_environment(name: str, python: Path, constraints: Sequence[str] = ()) -> Path:
    """Return the interpreter of an environment that contains the package and the requirements of the short suite.

    Raises:
        CalledProcessError: the package cannot be installed there.
    """
    folder = ENVIRONMENTS / name
    made_of = "\n".join([str(python), *constraints, (ROOT / "pyproject.toml").read_text("utf-8")])
    digest, stamp = hashlib.sha256(made_of.encode()).hexdigest(), folder / "made-of"
    inside = folder / "bin" / "python"
    if stamp.exists() and stamp.read_text("utf-8") == digest:
        return inside
    subprocess.run([python, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", inside]
    held = folder / "constraints.txt"
    held.write_text("".join(f"{line}\n" for line in constraints), "utf-8")
    subprocess.run([*pip, "install", "--constraint", held, "--editable", ".", "--group", "short"], cwd=ROOT, check=True)
    stamp.write_text(digest, "utf-8")
    return inside


def run_suite(name: str, python: Path, constraints: Sequence[str] = ()) -> bool:
    """Run the short suite in an environment, and return true if it passed. Failures are printed."""
    try:
        inside = make_environment(name, python, constraints)
        # The conftest.py files above this folder need more packages, so pytest must not load them.
        subprocess.run([inside, "-m", "pytest", f"--confcutdir={SUITE}", SUITE], cwd=ROOT, check=True)
    except subprocess.CalledProcessError:
        return False
    return True


def main(what: str) -> int:
    """Run the suite as the command line requests, and return the exit status."""
    failed = []
    if what == "lowest":
        requirements = read_project()["dependencies"]
        assert isinstance(requirements, list)
        constraints = lowest_versions(requirements)
        print("lowest versions:", *constraints, flush=True)
        if not run_suite("lowest", Path(sys.executable), constraints):
            failed.append("the lowest versions")
    else:
        for one in find_interpreters():
            print(f"{one}: {'skipped, ' + one.unfit if one.unfit else 'the short suite'}", flush=True)
            if not one.unfit and not run_suite(".".join(map(str, one.version)), one.path):
                failed.append(str(one))
    if failed:
        print("failed:", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("pythons", "lowest"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
