"""Named experiments: each recipe owns its rows, tables, figures and the claims that its runs decide. No torch."""

from lengthwise.errors import InputError
from lengthwise.recipes.controls import (
    AS_PRINTED,
    COUNTEREXAMPLE,
    DEPENDENCE,
    FIXED_SAMPLES,
    PACKING,
    QUESTIONS,
    REGULARIZATION,
)
from lengthwise.recipes.dynamics import ACCURACY_BY_DOMAIN, DIGIT_ACCURACY, DIGIT_DYNAMICS, SCALES
from lengthwise.recipes.long_operands import (
    ABACUS_100,
    COUPLED_200,
    COUPLED_1000,
    LONG_ENCODINGS,
    MULTIPLICATION_UPWARD,
)
from lengthwise.recipes.paper import ADDITION, MODULAR_ADDITION, MODULAR_MULTIPLICATION, MULTIPLICATION
from lengthwise.recipes.presets import PRESETS, Setting, preset
from lengthwise.recipes.recipe import Figure, Recipe, Rows, catalogue, of_rows, row_names
from lengthwise.recipes.relative import (
    JELASSI,
    MODULAR_RELATIVE,
    MULTIPLICATION_RELATIVE,
    RELATIVE_ADDITION,
    TABLE1,
)

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        *(ADDITION, MODULAR_ADDITION, MULTIPLICATION, MODULAR_MULTIPLICATION),
        *(QUESTIONS, FIXED_SAMPLES, AS_PRINTED),
        *(ACCURACY_BY_DOMAIN, DIGIT_ACCURACY, DIGIT_DYNAMICS, SCALES),
        *(COUNTEREXAMPLE, PACKING, DEPENDENCE, REGULARIZATION),
        *(TABLE1, RELATIVE_ADDITION, JELASSI, MODULAR_RELATIVE, MULTIPLICATION_RELATIVE),
        *(COUPLED_1000, COUPLED_200, ABACUS_100, LONG_ENCODINGS, MULTIPLICATION_UPWARD),
    )
}


def find_recipes(name: str) -> list[Recipe]:
    """The recipe of that name, or every one for `all`."""
    if name == "all":
        return list(RECIPES.values())
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r} (choose from all, {', '.join(RECIPES)})")
    return [RECIPES[name]]


__all__ = [
    "PRESETS",
    "RECIPES",
    "Figure",
    "Recipe",
    "Rows",
    "Setting",
    "catalogue",
    "find_recipes",
    "of_rows",
    "preset",
    "row_names",
]
