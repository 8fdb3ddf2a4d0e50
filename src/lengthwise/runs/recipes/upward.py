"""Products upward by coupled positions: N x 2 digits, from up to 40 digits to 1,000.

Some heads attend by place, to columns of the long number, and some by tokens, to the short number, which stands at
no fixed distance.
"""

from typing import Any

from lengthwise.runs.recipes.far import ROW, far
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning

TRAIN, TEST = "1..40x2", "40x2,60x2,80x2,100x2,200x2,500x2,1000x2"
TUNING = Tuning(steps=6_000, batch=64, dropout=0.0, decay=0.05, rate=3e-3, evaluate_every=2_000)
HEADS: dict[str, Any] = {"heads": 8, "token_heads": 4, "place_attention": True, "position_waves": True}
SHAPE: dict[str, Any] = {"layers": 3, "width": 256, "context": 1_032, "row": ROW}
DECODED = 100
SEEDS = 3
FIRST_SEED = 61
"""Lower ones were looked at while this was tuned."""

LAPTOP_TRAIN, LAPTOP_TEST, LAPTOP_BASE = "1..6x2", "6x2,12x2,24x2,40x2", 3
LAPTOP_TUNING = Tuning(steps=800, batch=16, dropout=0.0, decay=0.05, rate=5e-3, evaluate_every=400)
LAPTOP_SHAPE: dict[str, Any] = {"layers": 2, "width": 128, "context": 132, "row": 144}


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        run = far("mul", "coupled", LAPTOP_TRAIN, LAPTOP_TEST, LAPTOP_TUNING, **HEADS, **LAPTOP_SHAPE)
        run = run.changed(base=LAPTOP_BASE)
    else:
        run = far("mul", "coupled", TRAIN, TEST, TUNING, **HEADS, **SHAPE)
    return [Row("upward-multiplication", run.changed(evaluation={"decoded": DECODED}))]


MULTIPLICATION_UPWARD = Recipe(
    "multiplication-upward",
    "products of 1,000 x 2 digits after training on up to 40 x 2, three seeds",
    rows,
    seeds=SEEDS,
    first_seed=FIRST_SEED,
)
