"""What an import loads: nothing of a paper, of a store or of a model before it is used."""

import subprocess
import sys
from dataclasses import fields

import pytest

from recollect.methods.dependencies import LazyFactory
from recollect.recipes import RECIPES

OPENED = """
import asyncio
from recollect import Memory

async def main():
    async with Memory.open(":memory:", embedder="none", model="none") as memory:
        bank = await memory.bank("ada")
        {work}

asyncio.run(main())
"""


def loaded_by(code):
    """The names of the modules that a new process has loaded after it ran the code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def papers_of(modules):
    return {name.split(".")[2] for name in modules if name.startswith("recollect.methods.")}


def test_the_public_surface_loads_no_paper_no_store_and_no_model():
    modules = loaded_by("from recollect import Memory, Message, Answer")
    assert papers_of(modules) <= {"dependencies"}
    ours = ("memory.bank", "recall.pipeline", "retain.encode", "store.sqlite", "store.index", "text.names", "cli")
    others = (
        "torch",
        "httpx",
        "rich",
        "typer",
        "cattrs",
        "pydantic",
        "rapidfuzz",
        "dateparser",
        "tokenizers",
        "Stemmer",
    )
    assert modules.isdisjoint([*(f"recollect.{name}" for name in ours), *others])
    assert modules.isdisjoint(["recollect.models.languages.local", "recollect.models.languages.pydantic_ai"])


def test_an_open_bank_loads_the_parts_that_its_recipe_stores_with():
    modules = loaded_by(OPENED.format(work="await bank.recall('Toby')"))
    assert "recollect.store.sqlite" in modules
    assert papers_of(modules) == {"dependencies", "turn_encoder", "default", "recmem"}


@pytest.mark.parametrize(("recipe", "papers"), [("memr3", {"memr3"}), ("remem", {"remem"})])
def test_a_recipe_is_loaded_when_a_question_names_it(recipe, papers):
    work = f"[await bank._method({recipe!r}).responder()]"
    before = papers_of(loaded_by(OPENED.format(work="await bank.recall('Toby')")))
    assert papers_of(loaded_by(OPENED.format(work=work))) - before >= papers


def test_every_public_name_is_there():
    code = (
        "import recollect; assert set(recollect.__all__) <= set(dir(recollect)); from recollect import *; Memory, Bank"
    )
    assert "recollect.memory.bank" in loaded_by(code)


def test_the_list_of_commands_loads_no_store_and_no_numpy():
    modules = loaded_by("import recollect.cli")
    assert modules.isdisjoint(["numpy", "rich", "recollect.app", "recollect.store", "recollect.memory"])


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_part_of_our_recipes_can_be_imported(recipe):
    values = (getattr(recipe, field.name) for field in fields(recipe))
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    lazy = [part for part in parts if isinstance(part, LazyFactory)]
    assert len(lazy) >= 6
    assert all(callable(part.load()) for part in lazy)
