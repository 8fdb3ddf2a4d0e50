"""Recipes, the named experiments: each has its rows, tables, figures and claims. They need no torch."""

from pkgutil import resolve_name
from typing import Any

from lengthwise.errors import InputError
from lengthwise.recipes.configure import configure
from lengthwise.recipes.configure import find_preset as preset
from lengthwise.recipes.recipe import Figure, Recipe, Setting, catalogue, of_rows


def _made(name: str, *, rows: str, purpose: str, **more: Any) -> Recipe:
    """A recipe from its entry in the catalogue."""
    more.setdefault("title", f"`{name}`: {purpose}")
    return Recipe(name, resolve_name(f"{__name__}.{rows}"), purpose=purpose, **more)


RECIPES = {name: _made(name, **entry) for name, entry in catalogue()["recipes"].items()}


def find_recipes(name: str) -> list[Recipe]:
    """The recipe of this name, or all recipes for `all`."""
    if name == "all":
        return list(RECIPES.values())
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r} (choose from all, {', '.join(RECIPES)})")
    return [RECIPES[name]]


__all__ = ["RECIPES", "Figure", "Recipe", "Setting", "catalogue", "configure", "find_recipes", "of_rows", "preset"]
