"""McLeish's settings with abacus positions: sums of up to 100 digits from 20, products of up to 25 from 15."""

from typing import Any

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.far import LAPTOP_SHAPE, LAPTOP_TUNING, SHAPE, far
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning

SUMS = Tuning(steps=6_000, batch=128, dropout=0.0, decay=0.3, evaluate_every=1_000)
PRODUCTS = Tuning(steps=8_000, batch=128, dropout=0.0, decay=0.05, evaluate_every=2_000)
SUMS_CONTEXT, PRODUCTS_CONTEXT, LAPTOP_CONTEXT = 400, 200, 100
# Their best models apply a block of layers several times, the input added anew each time.
LOOPED: dict[str, Any] = {"layers": 4, "loops": 4, "heads": 4, "width": 256}
SUMS_A_CELL, PRODUCTS_A_CELL, LAPTOP_A_CELL = 100, 100, 20


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        return [Row("abacus-100-add", _laptop("D1..8", "D8,D10,D15,D20"))]
    sums = far("add", "abacus", "D1..20", "D20,D40,D60,D80,D100", SUMS, **SHAPE, context=SUMS_CONTEXT)
    products = far("mul", "abacus", "D1..15", "D15,D20,D25", PRODUCTS, **LOOPED, context=PRODUCTS_CONTEXT)
    return [
        Row("abacus-100-add", sums.changed(evaluation={"pairs": SUMS_A_CELL})),
        Row("abacus-100-mul", products.changed(evaluation={"pairs": PRODUCTS_A_CELL})),
    ]


def _laptop(train: str, test: str) -> RunConfig:
    shape = {**LAPTOP_SHAPE, "context": LAPTOP_CONTEXT}
    run = far("add", "abacus", train, test, LAPTOP_TUNING, **shape)
    return run.changed(evaluation={"pairs": LAPTOP_A_CELL})


ABACUS_100 = Recipe(
    "abacus-100", "every pair of lengths up to 100 after training on up to 20; products, 15 to 25", rows
)
