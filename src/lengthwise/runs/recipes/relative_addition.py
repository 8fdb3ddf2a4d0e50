"""Theorem 3 measured: sums of exactly n digits with relative positions, tested upward and by carry chain."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning
from lengthwise.runs.recipes.relative import LAPTOP_RELATIVE, OF_SUMS, SEEDS, laptop_run, sums

TUNING = Tuning(steps=2_000, batch=128, dropout=0.0, decay=0.05, evaluate_every=1_000)
DIGITS, TEST = (3, 4), "D1..10"
LAPTOP_DIGITS, LAPTOP_TEST = (2, 3), "D1..5"


def rows(setting: Setting) -> list[Row]:
    encodings, lengths = (LAPTOP_RELATIVE, LAPTOP_DIGITS) if setting.laptop else (OF_SUMS, DIGITS)
    # The paper's window and the rule's, of either length: rows of one encoding then train as one program.
    windows = tuple(f"windowed:{n}" for n in sorted({w for n in lengths for w in (n, n + 1)}))
    measured = {"chains": True, "hypotheses": windows}
    return [
        Row(f"relative-addition-{encoding}-D{n}", _config(setting, encoding, n).changed(evaluation=measured))
        for encoding in encodings
        for n in lengths
    ]


def _config(setting: Setting, encoding: str, n: int) -> RunConfig:
    if setting.laptop:
        return laptop_run("add", f"D{n}", LAPTOP_TEST, encoding)
    return sums(f"D{n}", TEST, encoding, TUNING)


RELATIVE_ADDITION = Recipe(
    "relative-addition",
    "sums of n digits with relative positions, upward, by length and by longest carry chain",
    rows,
    seeds=SEEDS,
)
