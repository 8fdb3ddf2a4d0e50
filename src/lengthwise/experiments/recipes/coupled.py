"""Sums far beyond training by coupled positions: from 20 digits to 1,000, and from 30 to 200 as published."""

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.far import BY_PLACE, far
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning

TUNING = Tuning(steps=8_000, batch=256, dropout=0.0, decay=0.05, evaluate_every=2_000)
LAPTOP_TUNING = Tuning(steps=1_200, batch=32, dropout=0.0, decay=0.05, rate=3e-3, evaluate_every=400)
WIDTH, LAPTOP_WIDTH = 256, 96
# Operands as wide as the longer one, as published, so that a column has digits of both or of neither.
LAYOUT = "level"
# Room for the longest answer, and one more than a prime: positions then run in a circle that no wave repeats on.
THOUSAND_CONTEXT, TWO_HUNDRED_CONTEXT, LAPTOP_CONTEXT = 1_032, 402, 212
SETS = ("lopsided", "carry", "alternating")
SEEDS = 3
"""The claim is about every seed, so that one is not enough."""

LAPTOP_TEST = "D10,D20,D50,D100,D200"


def thousand_rows(setting: Setting) -> list[Row]:
    """Real decoding of some problems stands beside one pass over all."""
    measured = {"sets": SETS, "decoded": 100, "anatomy": 200}
    if setting.laptop:
        return [Row("coupled-1000", _laptop("D1..10").changed(evaluation=measured))]
    test = "D20,D50,D100,D200,D500,D1000"
    return [Row("coupled-1000", _full("D1..20", test, THOUSAND_CONTEXT).changed(evaluation=measured))]


def two_hundred_rows(setting: Setting) -> list[Row]:
    """Position coupling's own setting: 1 to 30 digits in training, up to 200 in testing."""
    measured = {"sets": SETS}
    if setting.laptop:
        return [Row("coupled-200", _laptop("D1..10").changed(evaluation=measured))]
    test = "D30,D50,D100,D150,D200"
    return [Row("coupled-200", _full("D1..30", test, TWO_HUNDRED_CONTEXT).changed(evaluation=measured))]


def _full(train: str, test: str, context: int) -> RunConfig:
    return far("add", "coupled", train, test, TUNING, layout=LAYOUT, **BY_PLACE, width=WIDTH, context=context)


def _laptop(train: str) -> RunConfig:
    shape = {**BY_PLACE, "width": LAPTOP_WIDTH, "context": LAPTOP_CONTEXT}
    return far("add", "coupled", train, LAPTOP_TEST, LAPTOP_TUNING, layout=LAYOUT, **shape)


COUPLED_1000 = Recipe(
    "coupled-1000", "sums of 1,000 digits after training on up to 20, three seeds", thousand_rows, seeds=SEEDS
)
COUPLED_200 = Recipe("coupled-200", "position coupling's setting: from up to 30 digits to 200", two_hundred_rows)
