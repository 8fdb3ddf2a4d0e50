"""The paper's tables: sums, products and residues, against truth and against truncated operands. And its figures:
models watched closely while they learn, and models of several sizes on samples of several sizes.

Models are MiniGPT, and MicroGPT for products of up to two digits. Sums of residues are trained on D4 and products
of residues on D3, as the paper has it (it primes one row, sums modulo 150, with shorter operands; here no row is).
"""

import json
from collections.abc import Sequence
from typing import Any

from lengthwise.recipes.presets import Setting, Tuning, full_scale, small
from lengthwise.recipes.recipe import (
    FRESH_SEEDS,
    Recipe,
    Rows,
    Words,
    as_predicted,
    as_predicted_where,
    each,
    modulus_divides,
)
from lengthwise.records.analysis import learned_at, learning_order
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

SUM_TRAIN, LAPTOP_SUM_TRAIN = ("D4", "B4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7"), ("B2", "D1+D2")
PAPER_SAMPLES = {"D6+D7": 120_000}
# What products are trained on, and the model's size. The last one is a row that the paper's source has and its
# tables leave out.
PRODUCT_TRAIN = {"D1+D2": "micro", "D2": "micro", "D3": "mini", "D2+D3+D4": "mini", "D3+D4": "mini"}
LAPTOP_PRODUCT_TRAIN = ("D1+D2",)
SUM_MODULI, LAPTOP_SUM_MODULI = (50, 51, 100, 101, 150, 151, 200, 201), (35, 36)
PRODUCT_MODULI, LAPTOP_PRODUCT_MODULI = (50, 51, 100, 101, 150, 200, 201), (13, 16)
RESIDUE_TRAIN = {"add": "D4", "mul": "D3"}
PAPER_RESIDUE_TRAIN = {"add%150": "D1..4"}
RESIDUE_WIDTH = 3

OF_SUMS: dict[str, Any] = {"dependence": True}
OF_OTHERS: dict[str, Any] = {"digits": True, "dependence": True}


def addition_rows(setting: Setting) -> Rows:
    return {
        f"addition-{train}": sums(setting, train) for train in (LAPTOP_SUM_TRAIN if setting.laptop else SUM_TRAIN)
    }


def sums(setting: Setting, train: str) -> RunConfig:
    """Trained there, tested on D1 to D9."""
    if setting.laptop:
        return small("add", train).changed(evaluation=OF_SUMS)
    run = full_scale(setting, "add", train, "D1..9").changed(evaluation=OF_SUMS)
    if setting.preset == "paper" and train in PAPER_SAMPLES:
        return run.changed(data={"samples": PAPER_SAMPLES[train]})
    return run


def multiplication_rows(setting: Setting) -> Rows:
    if setting.laptop:
        found = {train: small("mul", train) for train in LAPTOP_PRODUCT_TRAIN}
    else:
        found = {t: full_scale(setting, "mul", t, "D1..9", size=size) for t, size in PRODUCT_TRAIN.items()}
    return {f"multiplication-{train}": run.changed(evaluation=OF_OTHERS) for train, run in found.items()}


def modular_addition_rows(setting: Setting) -> Rows:
    moduli = LAPTOP_SUM_MODULI if setting.laptop else SUM_MODULI
    return {f"modular-addition-p{p}": _residues(setting, "add", p) for p in moduli}


def modular_multiplication_rows(setting: Setting, tuning: Tuning | None = None) -> Rows:
    moduli = LAPTOP_PRODUCT_MODULI if setting.laptop else PRODUCT_MODULI
    return {f"modular-multiplication-p{p}": _residues(setting, "mul", p, tuning) for p in moduli}


def _residues(setting: Setting, operation: str, modulus: int, tuning: Tuning | None = None) -> RunConfig:
    task, train = f"{operation}%{modulus}", RESIDUE_TRAIN[operation]
    if setting.laptop:
        return small(task, "D1+D2", "B1..3").changed(evaluation=OF_OTHERS)
    if setting.preset == "paper":
        train = PAPER_RESIDUE_TRAIN.get(task, train)
    run = full_scale(setting, task, train, "B1..9", tuning, answer_width=RESIDUE_WIDTH)
    return run.changed(evaluation=OF_OTHERS)


def table_rows(setting: Setting) -> Rows:
    """The rows of all tables of the paper."""
    tables = (addition_rows, modular_addition_rows, multiplication_rows, modular_multiplication_rows)
    return {name: config for rows in tables for name, config in rows(setting).items()}


# Learning is over after some 300 steps, so looks are frequent and the run is short.
WATCHED_TUNING = Tuning(steps=800, evaluate_every=10)
WATCHED_TRAIN, LAPTOP_WATCHED_TRAIN = ("D4", "D5", "D4+D5"), ("D2", "D3", "D2+D3")
WATCHED: dict[str, Any] = {"digits": True, "dynamics": True, "interim_problems": 500}

SCALES_TUNING = Tuning(steps=2_000, evaluate_every=100)
SIZES, LAPTOP_WIDTHS = ("nano", "micro", "mini"), {"width32": 32, "width64": 64}
SCALES_SAMPLES, LAPTOP_SCALES_SAMPLES = {"100k": 100_000, "200k": 200_000}, {"300": 300, "1k": 1_000}
SCALES_TRAIN, LAPTOP_SCALES_TRAIN = ("D4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7"), ("D2", "D1+D2")
SCALES_TEST = "D9"  # the figure shows training domains; one length beyond tells whether the rest is ignored


def watched_rows(setting: Setting) -> Rows:
    """Tested on each length, and on one sample of all lengths together, the paper's D<=9."""
    if setting.laptop:
        small_one = {"base": 4, "training": {"evaluate_every": 250}}
        found = {t: small("add", t, each_and_all(4)).changed(**small_one) for t in LAPTOP_WATCHED_TRAIN}
    else:
        found = {t: full_scale(setting, "add", t, each_and_all(9), WATCHED_TUNING) for t in WATCHED_TRAIN}
    return {f"dynamics-{train}": run.changed(evaluation=WATCHED) for train, run in found.items()}


def each_and_all(longest: int) -> str:
    """
    >>> each_and_all(3)
    'D1..3,D1+D2+D3'
    """
    return f"D1..{longest}," + "+".join(f"D{n}" for n in range(1, longest + 1))


def all_digits_rows(setting: Setting) -> Rows:
    tables = table_rows(setting).items()
    sums = addition_rows(setting)
    return {**watched_rows(setting), **{name: config for name, config in tables if name not in sums}}


def scales_rows(setting: Setting) -> Rows:
    sizes, samples, domains = SIZES, SCALES_SAMPLES, SCALES_TRAIN
    if setting.laptop:
        sizes, samples, domains = LAPTOP_WIDTHS, LAPTOP_SCALES_SAMPLES, LAPTOP_SCALES_TRAIN
    return {
        f"scales-{size}-{count}-{train}": _scaled(setting, size, train).changed(data={"samples": samples[count]})
        for size in sizes
        for count in samples
        for train in domains
    }


def _scaled(setting: Setting, size: str, train: str) -> RunConfig:
    if not setting.laptop:
        return full_scale(setting, "add", train, SCALES_TEST, SCALES_TUNING, size=size)
    run = small("add", train).changed(model={"width": LAPTOP_WIDTHS[size]})
    return run.changed(training={"steps": 1_000, "evaluate_every": 100})


def mixture_is_easier(runs: Sequence[RunView]) -> list[tuple[RunView, Words]]:
    """D4+D5 reaches 99 % on its own domain in fewer steps than D5, all else equal."""
    alone = {_all_else(run): learned_step(run) for run in runs if str(run.train) == "D5"}
    mixtures = [run for run in runs if str(run.train) == "D4+D5" and _all_else(run) in alone]
    return [(run, [_sooner(learned_step(run), alone[_all_else(run)])]) for run in mixtures]


def _all_else(run: RunView) -> str:
    """A run's config but for what it was trained on."""
    return json.dumps({**run.config, "train": None}, sort_keys=True)


def _sooner(one: int | None, other: int | None) -> str:
    if one == other:
        return UNDECIDED
    return HOLDS if one is not None and (other is None or one < other) else FAILS


def learned_step(run: RunView) -> int | None:
    """The first step from which a run stays at 99 % or more on its training domain."""
    history = run.history("exact", run.train, TRUTH)
    return learned_at({step: (record.correct or 0) / record.total for step, record in history.items()})


_WHERE_DIVIDES = as_predicted_where(modulus_divides)
_ELSEWHERE = as_predicted_where(lambda run: not modulus_divides(run))


RECIPES = (
    Recipe("addition", addition_rows, FRESH_SEEDS, theorems={"Theorem 1, Corollary 2": each(as_predicted)}),
    Recipe(
        "modular-addition",
        modular_addition_rows,
        FRESH_SEEDS,
        theorems={"Theorem 4": _WHERE_DIVIDES, "Theorem 5": _ELSEWHERE},
    ),
    Recipe("multiplication", multiplication_rows, FRESH_SEEDS, theorems={"Theorem 6": each(as_predicted)}),
    Recipe(
        "modular-multiplication",
        modular_multiplication_rows,
        FRESH_SEEDS,
        theorems={"Theorem 7 (1)": _WHERE_DIVIDES, "Theorem 7 (2)": _ELSEWHERE},
    ),
    Recipe("accuracy-by-domain", watched_rows),
    Recipe("digit-accuracy", all_digits_rows),
    Recipe(
        "digit-dynamics",
        watched_rows,
        claims={
            "remark on Theorem 1": each(lambda run: [learning_order(run.records, run.train).top_last]),
            "appendix": each(lambda run: [learning_order(run.records, run.train).top_first]),
        },
    ),
    Recipe("scales", scales_rows, claims={"remark on Theorem 1": mixture_is_easier}),
)
