"""The paper's tables: sums, products and residues, against truth and against truncated operands. And its figures:
models watched closely while they learn, and models of several sizes on samples of several sizes.

Models are MiniGPT, and MicroGPT for products of up to two digits. Sums of residues are trained on D4 and products
of residues on D3, as the paper has it (it primes one row, sums modulo 150, with shorter operands; here no row is).
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from lengthwise.recipes.configure import Rows
from lengthwise.recipes.recipe import (
    FRESH_SEEDS,
    Recipe,
    Setting,
    Tuning,
    Words,
    paper_run,
    small_tuned,
)
from lengthwise.records.analysis import learned_at, learning_order
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

SUM_TRAIN = ("D4", "B4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7")
PAPER_SAMPLES = {"D6+D7": 120_000}
# What products are trained on, and the model's size. The last one is a row that the paper's source has and its
# tables leave out.
PRODUCT_TRAIN = {"D1+D2": "micro", "D2": "micro", "D3": "mini", "D2+D3+D4": "mini", "D3+D4": "mini"}
SUM_MODULI, PRODUCT_MODULI = (50, 51, 100, 101, 150, 151, 200, 201), (50, 51, 100, 101, 150, 200, 201)
PAPER_RESIDUE_TRAIN = {"add%150": "D1..4"}

OF_SUMS: dict[str, Any] = {"dependence": True}
OF_OTHERS: dict[str, Any] = {"digits": True, "dependence": True}


def addition_rows(setting: Setting) -> Rows:
    return {f"addition-{train}": sums(setting, train) for train in setting.pick(SUM_TRAIN, ("B2", "D1+D2"))}


def sums(setting: Setting, train: str) -> RunConfig:
    """Trained there, tested on D1 to D9."""
    run = paper_run(setting, "add", train, setting.pick("D1..9", "D1..3")).changed(evaluation=OF_SUMS)
    if setting.preset == "paper" and train in PAPER_SAMPLES:
        return run.changed(data={"samples": PAPER_SAMPLES[train]})
    return run


def multiplication_rows(setting: Setting) -> Rows:
    sizes, test = setting.pick((PRODUCT_TRAIN, "D1..9"), ({"D1+D2": "nano"}, "D1..3"))
    runs = {train: paper_run(setting, "mul", train, test, size=size) for train, size in sizes.items()}
    return {f"multiplication-{train}": run.changed(evaluation=OF_OTHERS) for train, run in runs.items()}


def modular_addition_rows(setting: Setting) -> Rows:
    moduli, train = setting.pick((SUM_MODULI, "D4"), ((35, 36), "D1+D2"))
    return {f"modular-addition-p{p}": _residues(setting, f"add%{p}", train) for p in moduli}


def modular_multiplication_rows(setting: Setting, tuning: Tuning | None = None) -> Rows:
    moduli, train = setting.pick((PRODUCT_MODULI, "D3"), ((13, 16), "D1+D2"))
    return {f"modular-multiplication-p{p}": _residues(setting, f"mul%{p}", train, tuning) for p in moduli}


def _residues(setting: Setting, task: str, train: str, tuning: Tuning | None = None) -> RunConfig:
    if setting.preset == "paper":
        train = PAPER_RESIDUE_TRAIN.get(task, train)
    run = paper_run(setting, task, train, setting.pick("B1..9", "B1..3"), tuning, answer_width=3)
    return run.changed(evaluation=OF_OTHERS)


def table_rows(setting: Setting) -> Rows:
    """The rows of all tables of the paper."""
    tables = (addition_rows, modular_addition_rows, multiplication_rows, modular_multiplication_rows)
    return {name: config for rows in tables for name, config in rows(setting).items()}


# Learning is over after some 300 steps, so looks are frequent and the run is short.
WATCHED_TUNING = Tuning(steps=800, evaluate_every=10)
WATCHED: dict[str, Any] = {"digits": True, "dynamics": True, "interim_problems": 500}

SCALES_TUNING = Tuning(steps=2_000, evaluate_every=100)
SCALES_TRAIN = ("D4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7")


def watched_rows(setting: Setting) -> Rows:
    """Tested on each length, and on one sample of all lengths together, the paper's D<=9."""
    domains, longest = setting.pick((("D4", "D5", "D4+D5"), 9), (("D2", "D3", "D2+D3"), 4))
    changes: dict[str, Any] = setting.pick({}, {"base": 4, "training": {"evaluate_every": 250}})
    runs = {t: paper_run(setting, "add", t, each_and_all(longest), WATCHED_TUNING) for t in domains}
    return {f"dynamics-{train}": run.changed(evaluation=WATCHED, **changes) for train, run in runs.items()}


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
    """The figure shows training domains; one length beyond tells whether the rest is ignored."""
    sizes = setting.pick(("nano", "micro", "mini"), ("width32", "width64"))
    samples = setting.pick({"100k": 100_000, "200k": 200_000}, {"300": 300, "1k": 1_000})
    return {
        f"scales-{size}-{count}-{train}": _scaled(setting, size, train).changed(data={"samples": samples[count]})
        for size in sizes
        for count in samples
        for train in setting.pick(SCALES_TRAIN, ("D2", "D1+D2"))
    }


def _scaled(setting: Setting, size: str, train: str) -> RunConfig:
    if not setting.laptop:
        return paper_run(setting, "add", train, "D9", SCALES_TUNING, size=size)
    width, training = int(size.removeprefix("width")), {"steps": 1_000, "evaluate_every": 100}
    return small_tuned("add", train).changed(model={"width": width}, training=training)


def learned_in_order(run: RunView, order: str) -> Words:
    """Whether the top positions are the first or the last to be learned."""
    return [getattr(learning_order(run.records, run.train), order)]


def mixture_is_easier(run: RunView, runs: Sequence[RunView]) -> Words:
    """D4+D5 reaches 99 % on its own domain in fewer steps than D5, all else equal."""
    if str(run.train) != "D4+D5":
        return []
    alone = [other for other in runs if str(other.train) == "D5" and _all_else(other) == _all_else(run)]
    steps = [(learned_step(run), learned_step(other)) for other in alone]
    return [UNDECIDED if own == other else HOLDS if own < other else FAILS for own, other in steps]


def _all_else(run: RunView) -> str:
    """A run's config but for what it was trained on."""
    return json.dumps({**run.config, "train": None}, sort_keys=True)


def learned_step(run: RunView) -> float:
    """The first step from which a run stays at 99 % or more on its training domain; infinity where none is."""
    history = run.history("exact", run.train, TRUTH)
    step = learned_at({step: (record.correct or 0) / record.total for step, record in history.items()})
    return math.inf if step is None else step


RECIPES = (
    Recipe("addition", addition_rows, FRESH_SEEDS),
    Recipe("modular-addition", modular_addition_rows, FRESH_SEEDS),
    Recipe("multiplication", multiplication_rows, FRESH_SEEDS),
    Recipe("modular-multiplication", modular_multiplication_rows, FRESH_SEEDS),
    Recipe("accuracy-by-domain", watched_rows),
    Recipe("digit-accuracy", all_digits_rows),
    Recipe("digit-dynamics", watched_rows),
    Recipe("scales", scales_rows),
)
