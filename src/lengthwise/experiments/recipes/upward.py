"""Products upward by coupled positions: N x 2 digits, from up to 40 digits to 100."""

from lengthwise.experiments.recipes.far import LAPTOP_SHAPE, LAPTOP_TUNING, SHAPE, far
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning

TRAIN, TEST = "1..40x2", "40x2,50x2,60x2,80x2,100x2"
TUNING = Tuning(steps=12_000, batch=64, dropout=0.0, decay=0.05, evaluate_every=3_000)
# Which digits belong to the short number has to be found out before they can be read from afar.
LARGER: dict[str, int] = {"layers": 4, "heads": 8}
# Training draws offsets such that positions reach the context, which the longest answer has to fit in.
CONTEXT, LAPTOP_CONTEXT = 500, 100
DECODED = 100
LAPTOP_TRAIN, LAPTOP_TEST, LAPTOP_BASE = "1..5x1", "5..8x1,10x1", 4


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        shape = {**LAPTOP_SHAPE, "context": LAPTOP_CONTEXT}
        run = far("mul", "coupled", LAPTOP_TRAIN, LAPTOP_TEST, LAPTOP_TUNING, **shape).changed(base=LAPTOP_BASE)
    else:
        shape = {**SHAPE, **LARGER, "context": CONTEXT}
        run = far("mul", "coupled", TRAIN, TEST, TUNING, **shape)
    return [Row("upward-multiplication", run.changed(evaluation={"decoded": DECODED}))]


MULTIPLICATION_UPWARD = Recipe(
    "multiplication-upward", "products of 100 x 2 digits after training on up to 40 x 2", rows
)
