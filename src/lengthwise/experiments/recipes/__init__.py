"""Named experiments: presets that configs start from, and recipes that make the paper's tables and figures."""

from lengthwise.errors import InputError
from lengthwise.experiments.recipes.addition import ADDITION
from lengthwise.experiments.recipes.counterexample import COUNTEREXAMPLE
from lengthwise.experiments.recipes.dependence import DEPENDENCE
from lengthwise.experiments.recipes.dynamics import ACCURACY_BY_DOMAIN, DIGIT_ACCURACY, DIGIT_DYNAMICS
from lengthwise.experiments.recipes.modular_addition import MODULAR_ADDITION
from lengthwise.experiments.recipes.modular_multiplication import MODULAR_MULTIPLICATION
from lengthwise.experiments.recipes.multiplication import MULTIPLICATION
from lengthwise.experiments.recipes.packing import PACKING
from lengthwise.experiments.recipes.presets import PRESETS, fast, paper, preset
from lengthwise.experiments.recipes.recipe import NamedRun, Recipe, Row, Setting
from lengthwise.experiments.recipes.regularization import REGULARIZATION
from lengthwise.experiments.recipes.scales import SCALES

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        ADDITION,
        MODULAR_ADDITION,
        MULTIPLICATION,
        MODULAR_MULTIPLICATION,
        ACCURACY_BY_DOMAIN,
        DIGIT_ACCURACY,
        DIGIT_DYNAMICS,
        SCALES,
        COUNTEREXAMPLE,
        PACKING,
        DEPENDENCE,
        REGULARIZATION,
    )
}


def find_recipes(name: str) -> list[Recipe]:
    """The recipe of that name, or every one for `all`."""
    if name == "all":
        return list(RECIPES.values())
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r}: allowed are all, {', '.join(RECIPES)}")
    return [RECIPES[name]]


__all__ = [
    "PRESETS",
    "RECIPES",
    "NamedRun",
    "Recipe",
    "Row",
    "Setting",
    "fast",
    "find_recipes",
    "paper",
    "preset",
]
