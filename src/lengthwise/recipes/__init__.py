"""Named experiments: each recipe owns its rows, tables, figures and the claims that its runs decide. No torch."""

from pkgutil import resolve_name
from typing import Any

from lengthwise.errors import InputError
from lengthwise.recipes.configure import configure
from lengthwise.recipes.configure import find_preset as preset
from lengthwise.recipes.recipe import Figure, Recipe, Setting, catalogue, of_rows


def _made(name: str, *, rows: str, purpose: str, **more: Any) -> Recipe:
    """From what the catalogue has of it."""
    more.setdefault("title", f"`{name}`: {purpose}")
    return Recipe(name, resolve_name(f"{__name__}.{rows}"), purpose=purpose, **more)


RECIPES = {name: _made(name, **entry) for name, entry in catalogue()["recipes"].items()}


def find_recipes(name: str) -> list[Recipe]:
    """The recipe of that name, or every one for `all`."""
    if name == "all":
        return list(RECIPES.values())
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r} (choose from all, {', '.join(RECIPES)})")
    return [RECIPES[name]]


__all__ = ["RECIPES", "Figure", "Recipe", "Setting", "catalogue", "configure", "find_recipes", "of_rows", "preset"]
