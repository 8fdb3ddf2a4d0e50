"""Products upward by coupled positions: N x 2 digits, from up to 40 digits to 100."""

from typing import Any

from lengthwise.experiments.recipes.far import ROW, SHAPE, far
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning

TRAIN, TEST = "1..40x2", "40x2,50x2,60x2,80x2,100x2"
TUNING = Tuning(steps=12_000, batch=64, dropout=0.0, decay=0.05, evaluate_every=3_000)
# Which digits belong to the short number has to be found out before they can be read from afar.
LARGER: dict[str, int] = {"layers": 4, "heads": 8}
# Training draws offsets such that positions reach the context, which the longest answer has to fit in.
CONTEXT = 500
DECODED = 100

# In small some heads attend by place, to columns of the long number, and some by tokens, to the short number.
LAPTOP_TRAIN, LAPTOP_TEST, LAPTOP_BASE = "1..6x2", "6x2,12x2,24x2,40x2", 3
LAPTOP_TUNING = Tuning(steps=1_500, batch=12, dropout=0.0, decay=0.05, rate=3e-3, evaluate_every=500)
LAPTOP_SHAPE: dict[str, Any] = {
    "layers": 3,
    "heads": 8,
    "token_heads": 4,
    "width": 128,
    "context": 132,
    "place_attention": True,
    "position_waves": True,
}


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        run = far("mul", "coupled", LAPTOP_TRAIN, LAPTOP_TEST, LAPTOP_TUNING, **LAPTOP_SHAPE)
        run = run.changed(base=LAPTOP_BASE, data={"row_tokens": ROW})
    else:
        shape = {**SHAPE, **LARGER, "context": CONTEXT}
        run = far("mul", "coupled", TRAIN, TEST, TUNING, **shape)
    return [Row("upward-multiplication", run.changed(evaluation={"decoded": DECODED}))]


MULTIPLICATION_UPWARD = Recipe(
    "multiplication-upward", "products of 100 x 2 digits after training on up to 40 x 2", rows
)
