"""McLeish's settings with abacus positions: sums of up to 100 digits from 20, products of up to 25 from 15."""

from dataclasses import replace
from typing import Any

from lengthwise.runs.recipes.far import BY_PLACE_TUNING, LAPTOP_BY_PLACE, by_place, far
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning

PRODUCTS = Tuning(steps=20_000, batch=128, dropout=0.0, decay=0.05, evaluate_every=4_000)
PRODUCTS_CONTEXT = 200
# Their best models apply a block of layers several times, the input added anew each time. Waves learn faster here
# than a table of positions.
LOOPED: dict[str, Any] = {"layers": 4, "loops": 4, "heads": 8, "width": 256, "position_waves": True}
SUMS_SHAPE: dict[str, int] = {"width": 256, "context": 402}
# Many short rows: one problem of each teaches `=` where numbers begin.
LAPTOP_SHAPE: dict[str, int] = {"width": 128, "context": 132, "row": 60}
LAPTOP_TUNING = replace(LAPTOP_BY_PLACE, batch=36)
A_CELL, LAPTOP_A_CELL = 100, 20


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        small = by_place("abacus", "D1..8", "D8,D10,D15,D20", LAPTOP_TUNING, **LAPTOP_SHAPE)
        return [Row("abacus-100-add", small.changed(evaluation={"pairs": LAPTOP_A_CELL}))]
    sums = by_place("abacus", "D1..20", "D20,D40,D60,D80,D100", BY_PLACE_TUNING, **SUMS_SHAPE)
    products = far("mul", "abacus", "D1..15", "D15,D20,D25", PRODUCTS, **LOOPED, context=PRODUCTS_CONTEXT)
    return [
        Row("abacus-100-add", sums.changed(evaluation={"pairs": A_CELL})),
        Row("abacus-100-mul", products.changed(evaluation={"pairs": A_CELL})),
    ]


ABACUS_100 = Recipe(
    "abacus-100", "every pair of lengths up to 100 after training on up to 20; products, 15 to 25", rows
)
