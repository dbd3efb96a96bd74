"""Names that the glossary and the code must agree on, and names that must stand once."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from recollect import ports
from recollect.domain.items import ItemKind, Network
from recollect.domain.links import LinkKind
from recollect.recall.settings import Arm
from recollect.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.M)
ORIGINS = {"Hindsight", "REMem", "MemR3", "E-mem", "RecMem", "common", "ours"}


def classes_of(folder):
    """Yield the path and the name of every public class that a module of the folder defines at its top."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield path.relative_to(ROOT), node.name


def test_a_public_class_name_stands_once():
    """``recollect.sync`` is the exception: its facades have the names of what they wrap."""
    found = defaultdict(list)
    for folder in (ROOT / "src", ROOT / "lab" / "src"):
        for path, name in classes_of(folder):
            if path != Path("src/recollect/sync.py"):
                found[name].append(str(path))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}


def terms():
    rows = [row for row in ROW.findall(GLOSSARY.read_text("utf-8")) if row[0] not in ("term", "---")]
    return {term: (meaning, origin) for term, meaning, origin in rows}


def test_every_term_stands_once_with_a_sentence_and_an_origin():
    rows = [row for row in ROW.findall(GLOSSARY.read_text("utf-8")) if row[0] not in ("term", "---")]
    names = [term for term, _, _ in rows]
    assert len(names) == len(set(names))
    assert {origin for _, _, origin in rows} <= ORIGINS
    assert all(meaning[0].isupper() and meaning.endswith(".") for _, meaning, _ in rows)


def test_kinds_arms_recipes_and_ports_are_in_the_glossary():
    known = set(terms())
    kinds = {kind.value for kind in (*ItemKind, *Network)}
    links = {f"{kind.value} link" for kind in LinkKind}
    arms = {f"{arm.value} arm" for arm in Arm}
    four_ports = {"Encoder", "Consolidator", "Retriever", "Responder"}
    assert four_ports <= set(ports.__all__)
    assert kinds | links | arms | set(RECIPES) | {name.lower() for name in four_ports} <= known
