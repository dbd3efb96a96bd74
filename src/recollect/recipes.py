"""Recipes: which encoder and retriever a bank works with. A paper is a line here, an ablation one changed field."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import InvalidInput
from recollect.recall.settings import Fusion, RecallSettings
from recollect.retain.encode import EncodeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A named way to keep and to find."""

    name: str
    encode: EncodeSettings = EncodeSettings()
    recall: RecallSettings = RecallSettings()


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(name="default"),
        Recipe(name="tempr", recall=RecallSettings(fusion=Fusion.RRF)),
    )
}


def recipe_named(name: str) -> Recipe:
    """A recipe by its name.

    Raises:
        InvalidInput: there is none of that name.
    """
    try:
        return RECIPES[name]
    except KeyError:
        raise InvalidInput(f"no recipe {name!r}; there are: {', '.join(RECIPES)}") from None
