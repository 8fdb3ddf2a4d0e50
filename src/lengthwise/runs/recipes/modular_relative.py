"""Residues of longer sums with relative positions: theory does not say what is learned, so a search does."""

from dataclasses import replace
from typing import Any

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning
from lengthwise.runs.recipes.relative import LAPTOP_RELATIVE, RELATIVE, SEEDS, laptop_run, run

TUNING = Tuning(steps=3_000, batch=128, dropout=0.1, decay=0.1, sampling="balanced", evaluate_every=1_500)
# Where all digits count, twice the steps are needed, and dropout keeps a model from learning it to the end.
HARDER = replace(TUNING, steps=6_000, dropout=0.0, evaluate_every=3_000)
TUNINGS = {100: TUNING, 101: HARDER}
TRAIN, TEST = "D1..4", "D1..8"
LAPTOP_MODULI, LAPTOP_TRAIN, LAPTOP_TEST = (36, 35), "D1..2", "D1..4"
# The last digits, the first ones, digits n apart alike (with 1 the sum of digits), a sum that loses carries.
KINDS = ("truncated", "leading", "folded", "windowed")
SIZES, LAPTOP_SIZES = range(1, 7), range(1, 4)


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        return [
            Row(name(encoding, p), _laptop(encoding, p)) for encoding in LAPTOP_RELATIVE for p in LAPTOP_MODULI
        ]
    return [Row(name(encoding, p), _full(encoding, p)) for encoding in RELATIVE for p in TUNINGS]


def name(encoding: str, modulus: int) -> str:
    return f"relative-modular-{encoding}-p{modulus}"


def _full(encoding: str, modulus: int) -> RunConfig:
    """Both moduli with answers as wide as the wider one's, so that only the task and its budget differ."""
    run_of_ours = run(f"add%{modulus}", TRAIN, TEST, encoding, TUNINGS[modulus], data={"answer_width": 3})
    return run_of_ours.changed(evaluation=candidates(SIZES))


def _laptop(encoding: str, modulus: int) -> RunConfig:
    run_of_ours = laptop_run(f"add%{modulus}", LAPTOP_TRAIN, LAPTOP_TEST, encoding)
    return run_of_ours.changed(evaluation=candidates(LAPTOP_SIZES))


def candidates(sizes: range) -> dict[str, Any]:
    return {"hypotheses": tuple(f"{kind}:{size}" for kind in KINDS for size in sizes)}


MODULAR_RELATIVE = Recipe(
    "modular-relative",
    "residues of longer sums with relative positions: which of many functions is learned?",
    rows,
    seeds=SEEDS,
)
