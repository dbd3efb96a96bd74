"""The recipes: named ways to retain, to recall and to answer. An ablation of a paper is one changed field."""

from recollect.recipes.recipe import OwnModel, Recipe, SearchModels
from recollect.recipes.registry import GROUP, RECIPES, ListedRecipe, get_recipe, list_recipes, register_recipe

__all__ = [
    "GROUP",
    "RECIPES",
    "ListedRecipe",
    "OwnModel",
    "Recipe",
    "SearchModels",
    "get_recipe",
    "list_recipes",
    "register_recipe",
]
