"""The registry of recipes: those of recollect, registered ones, and those of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from recollect.errors import InvalidInput
from recollect.methods.dependencies import LazyFactory
from recollect.ports import Consolidator
from recollect.recall.settings import Fusion, RecallSettings
from recollect.recipes.recipe import Recipe

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "recollect.recipes"
"""The group of entry points for recipes of other packages."""

_CONSOLIDATOR: Final[LazyFactory[Consolidator]] = LazyFactory("recollect.methods.recmem.consolidate:UnitConsolidator")
_INDEXER: Final[LazyFactory[Consolidator]] = LazyFactory("recollect.methods.remem.indexer:Indexer")

RECIPES: Final = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="default",
            encode=LazyFactory("recollect.methods.default.encoder:make_encoder"),
            consolidate=(_CONSOLIDATOR,),
            has_background_work=False,
            answer=LazyFactory("recollect.methods.default.answer:DefaultResponder"),
        ),
        Recipe(name="tempr", recall=RecallSettings(fusion=Fusion.RRF)),
        Recipe(
            name="hindsight",
            consolidate=(
                LazyFactory("recollect.methods.hindsight.extractor:Extractor"),
                LazyFactory("recollect.methods.hindsight.reinforcer:Reinforcer"),
                LazyFactory("recollect.methods.hindsight.observer:Observer"),
            ),
        ),
        Recipe(
            name="remem",
            consolidate=(_INDEXER,),
            answer=LazyFactory("recollect.methods.remem.tool_loop:RecollectionResponder"),
        ),
        Recipe(
            name="remem_single",
            consolidate=(_INDEXER,),
            answer=LazyFactory("recollect.methods.remem.single:SinglePassResponder"),
        ),
        Recipe(name="memr3", answer=LazyFactory("recollect.methods.memr3.answer:LoopResponder")),
        Recipe(
            name="recmem",
            consolidate=(_CONSOLIDATOR,),
            answer=LazyFactory("recollect.methods.recmem.answer:TierAnswerer"),
        ),
        Recipe(
            name="emem",
            encode=LazyFactory("recollect.methods.emem.encoder:make_encoder"),
            retrieve=LazyFactory("recollect.methods.emem.router:Router"),
            consolidate=(LazyFactory("recollect.methods.emem.summarizer:Summarizer"),),
            answer=LazyFactory("recollect.methods.emem.answer:Reconstructor"),
        ),
    )
}
"""The recipes of recollect. Their parts are imported when a bank first uses them."""

_registered: dict[str, Recipe] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRecipe:
    """A recipe with a name and the package that it comes from. ``problem`` says why it cannot be used, if so."""

    name: str
    package: str
    problem: str | None = None


def register_recipe(recipe: Recipe) -> None:
    """Register a recipe by its name in this process. An entry point registers a recipe for every process.

    Raises:
        InvalidInput: another recipe has this name.
    """
    if recipe.name in RECIPES or recipe.name in _registered or recipe.name in _entry_points():
        raise InvalidInput(f"the name {recipe.name!r} is taken by another recipe. Choose another name")
    _registered[recipe.name] = recipe


def get_recipe(name: str) -> Recipe:
    """Return a recipe by its name: a recipe of recollect, a registered one, or one of another package.

    Raises:
        InvalidInput: there is no recipe of this name, or its package cannot be used.
    """
    known = RECIPES.get(name) or _registered.get(name)
    if known is not None:
        return known
    points = _entry_points()
    if name not in points:
        raise InvalidInput(
            f"there is no recipe {name!r}. The recipes are: {', '.join((*RECIPES, *_registered, *points))}"
        )
    problem = _find_problem(name, points[name])
    if problem is not None:
        raise InvalidInput(f"the recipe {name!r} of {_join_packages(points[name])} cannot be used: {problem}")
    recipe: Recipe = points[name][0].load()
    return recipe


def list_recipes() -> tuple[ListedRecipe, ...]:
    """Return all recipes that have a name: those of recollect, registered ones and those of other packages.

    Recipes that cannot be used are included.
    """
    ours = [ListedRecipe(name=name, package="recollect") for name in RECIPES]
    registered = [ListedRecipe(name=name, package="this program") for name in _registered]
    others = [
        ListedRecipe(name=name, package=_join_packages(points), problem=_find_problem(name, points))
        for name, points in _entry_points().items()
    ]
    return (*ours, *registered, *others)


def _entry_points() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by name. Nothing is imported yet."""
    from importlib.metadata import entry_points  # slow to load, and not needed for a recipe of ours

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _find_problem(name: str, points: Sequence[EntryPoint]) -> str | None:
    """Return the reason why another package's recipe cannot be used, or ``None`` if it can be used."""
    if name in RECIPES:
        return "recollect has a recipe of this name. The package must choose another name"
    if len(points) > 1:
        return "several packages have a recipe of this name. Uninstall all but one"
    try:
        recipe = points[0].load()
    except Exception as exc:  # whatever another package raises while it is imported
        return f"{type(exc).__name__}: {exc}"
    if not isinstance(recipe, Recipe):
        return f"{points[0].value} is not a recollect.recipes.Recipe"
    if recipe.name != name:
        return f"{points[0].value} has the name {recipe.name!r}. An entry point must have the name of its recipe"
    return None


def _join_packages(points: Sequence[EntryPoint]) -> str:
    return ", ".join("an unknown package" if one.dist is None else one.dist.name for one in points)
