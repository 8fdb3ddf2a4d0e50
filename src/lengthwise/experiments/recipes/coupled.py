"""Sums far beyond training by coupled positions: from 20 digits to 1,000, and from 30 to 200 as published."""

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.far import LAPTOP_SHAPE, LAPTOP_TUNING, SHAPE, far
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning

THOUSAND = Tuning(steps=12_000, batch=256, dropout=0.0, decay=0.05, evaluate_every=2_000)
TWO_HUNDRED = Tuning(steps=6_000, batch=256, dropout=0.0, decay=0.05, evaluate_every=1_000)
# Training draws offsets such that positions reach the context, which the longest answer has to fit in.
# A context several times a row's columns lets few problems of a row share a position.
THOUSAND_CONTEXT, TWO_HUNDRED_CONTEXT, LAPTOP_CONTEXT = 1_030, 400, 200
SETS = ("lopsided", "carry", "alternating")
SEEDS = 3
"""The claim is about every seed, so that one is not enough."""

LAPTOP_TEST = "D10,D15,D20,D30,D40"


def thousand_rows(setting: Setting) -> list[Row]:
    """Real decoding of some problems stands beside one pass over all."""
    measured = {"sets": SETS, "decoded": 100, "anatomy": 200}
    if setting.laptop:
        return [Row("coupled-1000", _laptop("D1..10").changed(evaluation=measured))]
    test = "D20,D50,D100,D200,D500,D1000"
    run = far("add", "coupled", "D1..20", test, THOUSAND, **SHAPE, context=THOUSAND_CONTEXT)
    return [Row("coupled-1000", run.changed(evaluation=measured))]


def two_hundred_rows(setting: Setting) -> list[Row]:
    """Position coupling's own setting: 1 to 30 digits in training, up to 200 in testing."""
    measured = {"sets": SETS}
    if setting.laptop:
        return [Row("coupled-200", _laptop("D1..10").changed(evaluation=measured))]
    test = "D30,D50,D100,D150,D200"
    run = far("add", "coupled", "D1..30", test, TWO_HUNDRED, **SHAPE, context=TWO_HUNDRED_CONTEXT)
    return [Row("coupled-200", run.changed(evaluation=measured))]


def _laptop(train: str) -> RunConfig:
    shape = {**LAPTOP_SHAPE, "context": LAPTOP_CONTEXT}
    return far("add", "coupled", train, LAPTOP_TEST, LAPTOP_TUNING, **shape)


COUPLED_1000 = Recipe(
    "coupled-1000", "sums of 1,000 digits after training on up to 20, three seeds", thousand_rows, seeds=SEEDS
)
COUPLED_200 = Recipe("coupled-200", "position coupling's setting: from up to 30 digits to 200", two_hundred_rows)
