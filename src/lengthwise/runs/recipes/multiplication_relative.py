"""Products upward with relative positions, answered at once and with the raw sums and carries written out."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning
from lengthwise.runs.recipes.relative import LAPTOP_RELATIVE, RELATIVE, SEEDS, laptop_run, run

TUNING = Tuning(steps=3_000, batch=128, dropout=0.0, decay=0.05, evaluate_every=1_500)
TRAIN, TEST = ("D1..2", "D2"), "D1..5"
LAPTOP_TRAIN, LAPTOP_TEST = ("D1..2",), "D1..3"
# What a way to answer is called, and its layout; the encoding's natural one has no steps.
WAYS = {"direct": None, "scratchpad": "scratchpad"}


def rows(setting: Setting) -> list[Row]:
    encodings, domains = (LAPTOP_RELATIVE, LAPTOP_TRAIN) if setting.laptop else (RELATIVE, TRAIN)
    return [
        Row(f"relative-multiplication-{encoding}-{way}-{train}", _config(setting, encoding, layout, train))
        for encoding in encodings
        for way, layout in WAYS.items()
        for train in domains
    ]


def _config(setting: Setting, encoding: str, layout: str | None, train: str) -> RunConfig:
    if setting.laptop:
        return laptop_run("mul", train, LAPTOP_TEST, encoding, layout=layout)
    return run("mul", train, TEST, encoding, TUNING, layout=layout)


MULTIPLICATION_RELATIVE = Recipe(
    "multiplication-relative",
    "longer products with relative positions, with and without raw sums and carries written out",
    rows,
    seeds=SEEDS,
)
