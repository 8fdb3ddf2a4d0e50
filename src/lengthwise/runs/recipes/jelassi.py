"""What Jelassi et al. report of encoders, asked of a decoder: trained on five digits, does it add twenty?"""

from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning
from lengthwise.runs.recipes.relative import LAPTOP_RELATIVE, OF_SUMS, SEEDS, laptop_run, sums

TUNING = Tuning(steps=2_000, batch=128, dropout=0.0, decay=0.05, evaluate_every=1_000)
TRAIN, TEST = ("D5", "D1..5"), "D1..20"
LAPTOP_TRAIN, LAPTOP_TEST = ("D2", "D1..2"), "D1..6"


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        return [
            Row(f"jelassi-{encoding}-{train}", laptop_run("add", train, LAPTOP_TEST, encoding))
            for encoding in LAPTOP_RELATIVE
            for train in LAPTOP_TRAIN
        ]
    return [Row(f"jelassi-{name}-{train}", sums(train, TEST, name, TUNING)) for name in OF_SUMS for train in TRAIN]


JELASSI = Recipe("jelassi-5-20", "trained on five digits, tested to twenty, relative positions", rows, seeds=SEEDS)
