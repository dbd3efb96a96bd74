"""A recipe of somebody else's package works in the library and on the command line without an edit of ours."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from recollect.errors import InvalidInput
from recollect.recipes import GROUP, Recipe, get_recipe, list_recipes, register_recipe, registry

PACKAGE = Path(__file__).parent / "packages" / "recollect_sixth"
TALK = "\n".join(
    json.dumps({"id": f"m{n}", "speaker": who, "text": text, "at": f"2024-05-0{n + 1}T09:00:00+00:00"})
    for n, (who, text) in enumerate(
        [("Ada", "I adopted Toby from the shelter. He is a beagle."), ("Bram", "I baked bread with walnuts.")]
    )
)


@pytest.fixture
def site(tmp_path):
    """A folder in which the package is installed as pip would install it."""
    folder = tmp_path / "site"
    shutil.copytree(PACKAGE / "src" / "recollect_sixth", folder / "recollect_sixth")
    install(folder, "recollect-sixth", sixth="recollect_sixth:SIXTH")
    return folder


def install(folder, package, **points):
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")


def ran(site, *args, stdin="", status=0, **environment):
    """What a command prints, run in a process that sees the package."""
    done = subprocess.run(
        [sys.executable, *args],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": str(site), "RECOLLECT_STORE": str(site.parent / "store"), **environment},
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def cli(site, *args, **how):
    return ran(site, "-m", "recollect", *args, **how)


def test_the_package_says_what_the_test_installs():
    text = (PACKAGE / "pyproject.toml").read_text()
    assert f'[project.entry-points."{GROUP}"]\nsixth = "recollect_sixth:SIXTH"\n' in text


def test_it_works_in_the_library(site):
    told = ran(
        site,
        "-c",
        """
import asyncio
from recollect import Memory, Message
from recollect.testing.models import ScriptedModel

async def main():
    async with Memory.open(":memory:", recipe="sixth", model=ScriptedModel([])) as memory:
        bank = await memory.bank("ada")
        said = Message(id="m1", speaker="Ada", text="I adopted Toby. He is a beagle.")
        await bank.retain(said, session="s", wait=True)
        print([item.text for item in await bank.items("turn")])
        print([item.text for item in await bank.items("summary")])
        print([arm.arm for arm in (await bank.recall("Which beagle?")).receipt.arms])
        answer = await bank.ask("Which beagle?")
        print(answer.text, [step.action for step in answer.trace])
        receipt = await bank.forget(messages=["m1"])
        print(await bank.items("turn"), await bank.backfill())

asyncio.run(main())
""",
    )
    assert told.splitlines() == [
        "['He is a beagle.', 'I adopted Toby.']",
        "['1 messages of Ada.']",
        "['shared_words']",
        "\"He is a beagle.\" ['quote']",
        "[] 0",
    ]


def test_it_works_on_the_command_line_and_in_the_worker(site):
    model = {"RECOLLECT_MODEL": "openai:nobody", "RECOLLECT_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "x"}
    recipe = {"RECOLLECT_RECIPE": "sixth"}
    kept = json.loads(cli(site, "retain", "-", "--session", "s", "--recipe", "sixth", "--json", stdin=TALK))
    assert kept["items"] == 3
    assert kept["jobs"] == 1
    cli(site, "worker", "--once", **recipe, **model)
    found = json.loads(cli(site, "recall", "Who has a beagle?", "--recipe", "sixth", "--json"))
    assert found["evidence"][0]["text"] == "He is a beagle."
    assert [arm["arm"] for arm in found["receipt"]["arms"]] == ["shared_words"]
    digest = json.loads(cli(site, "recall", "messages of Ada and Bram", "--json", **recipe))["evidence"][0]
    assert (digest["kind"], digest["text"]) == ("summary", "2 messages of Ada, Bram.")
    answer = json.loads(cli(site, "ask", "Who has a beagle?", "--recipe", "sixth", "--json"))
    (step,) = answer["trace"]
    assert (answer["text"], step["kind"], step["action"]) == ('"He is a beagle."', "sixth.quote", "quote")
    assert step["sentences"][0] == "He is a beagle."
    told = cli(site, "ask", "Who has a beagle?", "--recipe", "sixth", "--trace").splitlines()
    assert told[2] == "   - He is a beagle."
    assert ["sixth", "recollect-sixth"] in [line.split() for line in cli(site, "recipes").splitlines()]


def test_one_that_cannot_be_loaded_is_named_and_does_not_break_the_others(site):
    (site / "broken_package.py").write_text("raise ImportError('no module named torch')")
    install(site, "broken-package", broken="broken_package:RECIPE", default="recollect_sixth:SIXTH")
    install(site, "misnamed-package", other="recollect_sixth:SIXTH", worse="recollect_sixth:answer")
    listed = {one["name"]: one for one in json.loads(cli(site, "recipes", "--json")) if one["package"] != "recollect"}
    assert "problem" not in listed["sixth"]
    assert listed["broken"]["problem"] == "ImportError: no module named torch"
    assert "recollect has a recipe of this name" in listed["default"]["problem"]
    assert "has the name 'sixth'" in listed["other"]["problem"]
    assert "is not a recollect.recipes.Recipe" in listed["worse"]["problem"]
    told = cli(site, "retain", "-", "--recipe", "broken", stdin=TALK, status=2)
    assert "the recipe 'broken' of broken-package cannot be used: ImportError: no module named torch" in told
    cli(site, "retain", "-", "--recipe", "sixth", stdin=TALK)
    cli(site, "recall", "beagle")  # the default recipe is ours
    assert "no recipe 'seventh'. The recipes are: default, " in cli(
        site, "recall", "x", "--recipe", "seventh", status=2
    )


def test_two_packages_cannot_have_one_name(site):
    install(site, "rival-package", sixth="recollect_sixth:SIXTH")
    told = cli(site, "recall", "x", "--recipe", "sixth", status=2)
    assert "of recollect-sixth, rival-package cannot be used: several packages" in told


@pytest.fixture
def _registry(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    point = EntryPoint(name="pointed", value="nowhere:RECIPE", group=GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])


@pytest.mark.usefixtures("_registry")
def test_a_recipe_is_registered_by_a_function():
    mine = Recipe(name="mine")
    register_recipe(mine)
    assert get_recipe("mine") is mine
    assert ("mine", "this program") in {(one.name, one.package) for one in list_recipes()}


@pytest.mark.usefixtures("_registry")
@pytest.mark.parametrize("name", ["default", "mine", "pointed"])
def test_a_name_that_is_taken_is_refused(name):
    register_recipe(Recipe(name="mine"))
    with pytest.raises(InvalidInput, match=f"the name '{name}' is taken"):
        register_recipe(Recipe(name=name))
