"""McLeish's settings with abacus positions: sums of up to 100 digits from 20, products of up to 25 from 15."""

from typing import Any

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.coupled import LAPTOP_TUNING, LAYOUT, TUNING, WIDTH
from lengthwise.experiments.recipes.far import BY_PLACE, far
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning

PRODUCTS = Tuning(steps=8_000, batch=128, dropout=0.0, decay=0.05, evaluate_every=2_000)
# Of sums, one more than a prime; rows a little longer than the longest problem: both as for coupled positions.
SUMS_CONTEXT, SUMS_ROW = 402, 72
PRODUCTS_CONTEXT = 200
LAPTOP_WIDTH, LAPTOP_CONTEXT, LAPTOP_ROW = 128, 132, 60
# Their best models apply a block of layers several times, the input added anew each time.
LOOPED: dict[str, Any] = {"layers": 4, "loops": 4, "heads": 4, "width": 256}
SUMS_A_CELL, PRODUCTS_A_CELL, LAPTOP_A_CELL = 100, 100, 20


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        run = _sums("D1..8", "D8,D10,D15,D20", LAPTOP_TUNING, width=LAPTOP_WIDTH, context=LAPTOP_CONTEXT)
        measured = {"pairs": LAPTOP_A_CELL}
        return [Row("abacus-100-add", run.changed(data={"row_tokens": LAPTOP_ROW}, evaluation=measured))]
    sums = _sums("D1..20", "D20,D40,D60,D80,D100", TUNING, width=WIDTH, context=SUMS_CONTEXT)
    products = far("mul", "abacus", "D1..15", "D15,D20,D25", PRODUCTS, **LOOPED, context=PRODUCTS_CONTEXT)
    return [
        Row("abacus-100-add", sums.changed(data={"row_tokens": SUMS_ROW}, evaluation={"pairs": SUMS_A_CELL})),
        Row("abacus-100-mul", products.changed(evaluation={"pairs": PRODUCTS_A_CELL})),
    ]


def _sums(train: str, test: str, tuning: Tuning, *, width: int, context: int) -> RunConfig:
    return far("add", "abacus", train, test, tuning, layout=LAYOUT, **BY_PLACE, width=width, context=context)


ABACUS_100 = Recipe(
    "abacus-100", "every pair of lengths up to 100 after training on up to 20; products, 15 to 25", rows
)
