"""Models watched closely while they learn, and models of several sizes on samples of several sizes."""

import json
from collections.abc import Sequence
from typing import Any

from lengthwise.recipes import paper
from lengthwise.recipes.claims import Words, each
from lengthwise.recipes.presets import Setting, Tuning, full_scale, small
from lengthwise.recipes.recipe import Recipe, Rows
from lengthwise.records.analysis import learned_at, learning_order
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

# Learning is over after some 300 steps, so looks are frequent and the run is short.
WATCHED_TUNING = Tuning(steps=800, evaluate_every=10)
WATCHED_TRAIN, LAPTOP_WATCHED_TRAIN = ("D4", "D5", "D4+D5"), ("D2", "D3", "D2+D3")
WATCHED: dict[str, Any] = {"digits": True, "dynamics": True, "interim_problems": 500}

SCALES_TUNING = Tuning(steps=2_000, evaluate_every=100)
SIZES, LAPTOP_WIDTHS = ("nano", "micro", "mini"), {"width32": 32, "width64": 64}
SAMPLES, LAPTOP_SAMPLES = {"100k": 100_000, "200k": 200_000}, {"300": 300, "1k": 1_000}
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
    tables = paper.table_rows(setting).items()
    sums = paper.addition_rows(setting)
    return {**watched_rows(setting), **{name: config for name, config in tables if name not in sums}}


def scales_rows(setting: Setting) -> Rows:
    sizes, samples, domains = (
        (LAPTOP_WIDTHS, LAPTOP_SAMPLES, LAPTOP_SCALES_TRAIN) if setting.laptop else (SIZES, SAMPLES, SCALES_TRAIN)
    )
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


ACCURACY_BY_DOMAIN = Recipe("accuracy-by-domain", watched_rows)
DIGIT_ACCURACY = Recipe("digit-accuracy", all_digits_rows)
DIGIT_DYNAMICS = Recipe(
    "digit-dynamics",
    watched_rows,
    claims={
        "remark on Theorem 1": each(lambda run: [learning_order(run.records, run.train).top_last]),
        "appendix": each(lambda run: [learning_order(run.records, run.train).top_first]),
    },
)
SCALES = Recipe("scales", scales_rows, claims={"remark on Theorem 1": mixture_is_easier})
