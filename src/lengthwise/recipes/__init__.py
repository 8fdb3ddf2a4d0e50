"""Named experiments: each recipe owns its rows, tables, figures and the claims that its runs decide. No torch."""

from lengthwise.errors import InputError
from lengthwise.recipes import long_operands, paper, relative
from lengthwise.recipes.configure import configure
from lengthwise.recipes.configure import find_preset as preset
from lengthwise.recipes.recipe import Figure, Recipe, Setting, catalogue, of_rows

_MADE = (*paper.RECIPES, *relative.RECIPES, *long_operands.RECIPES)
_ORDER = [*catalogue()["recipes"]]
RECIPES = {recipe.name: recipe for recipe in sorted(_MADE, key=lambda recipe: _ORDER.index(recipe.name))}


def find_recipes(name: str) -> list[Recipe]:
    """The recipe of that name, or every one for `all`."""
    if name == "all":
        return list(RECIPES.values())
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r} (choose from all, {', '.join(RECIPES)})")
    return [RECIPES[name]]


__all__ = ["RECIPES", "Figure", "Recipe", "Setting", "catalogue", "configure", "find_recipes", "of_rows", "preset"]
