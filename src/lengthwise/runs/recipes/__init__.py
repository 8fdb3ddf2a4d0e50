"""Named experiments: presets that configs start from, and recipes that make the paper's tables and figures."""

from lengthwise.errors import InputError
from lengthwise.runs.recipes.abacus import ABACUS_100
from lengthwise.runs.recipes.addition import ADDITION
from lengthwise.runs.recipes.controls import AS_PRINTED, FIXED_SAMPLES
from lengthwise.runs.recipes.counterexample import COUNTEREXAMPLE
from lengthwise.runs.recipes.coupled import COUPLED_200, COUPLED_1000
from lengthwise.runs.recipes.dependence import DEPENDENCE
from lengthwise.runs.recipes.dynamics import ACCURACY_BY_DOMAIN, DIGIT_ACCURACY, DIGIT_DYNAMICS
from lengthwise.runs.recipes.jelassi import JELASSI
from lengthwise.runs.recipes.long_encodings import LONG_ENCODINGS
from lengthwise.runs.recipes.modular import MODULAR_ADDITION, MODULAR_MULTIPLICATION
from lengthwise.runs.recipes.modular_relative import MODULAR_RELATIVE
from lengthwise.runs.recipes.multiplication import MULTIPLICATION
from lengthwise.runs.recipes.multiplication_relative import MULTIPLICATION_RELATIVE
from lengthwise.runs.recipes.packing import PACKING
from lengthwise.runs.recipes.presets import PRESETS, fast, paper, preset
from lengthwise.runs.recipes.questions import QUESTIONS
from lengthwise.runs.recipes.recipe import NamedRun, Recipe, Row, Setting
from lengthwise.runs.recipes.regularization import REGULARIZATION
from lengthwise.runs.recipes.relative_addition import RELATIVE_ADDITION
from lengthwise.runs.recipes.scales import SCALES
from lengthwise.runs.recipes.table1 import TABLE1
from lengthwise.runs.recipes.upward import MULTIPLICATION_UPWARD

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        ADDITION,
        MODULAR_ADDITION,
        MULTIPLICATION,
        MODULAR_MULTIPLICATION,
        QUESTIONS,
        FIXED_SAMPLES,
        AS_PRINTED,
        ACCURACY_BY_DOMAIN,
        DIGIT_ACCURACY,
        DIGIT_DYNAMICS,
        SCALES,
        COUNTEREXAMPLE,
        PACKING,
        DEPENDENCE,
        REGULARIZATION,
        TABLE1,
        RELATIVE_ADDITION,
        JELASSI,
        MODULAR_RELATIVE,
        MULTIPLICATION_RELATIVE,
        COUPLED_1000,
        COUPLED_200,
        ABACUS_100,
        LONG_ENCODINGS,
        MULTIPLICATION_UPWARD,
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
