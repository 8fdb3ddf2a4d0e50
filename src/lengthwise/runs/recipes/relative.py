"""What the recipes on relative positions share: their encodings, and how a run of ours is put together."""

from typing import Any

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes import far
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.presets import muon
from lengthwise.runs.recipes.recipe import Tuning

DISTANCE = ("rotary", "alibi", "t5", "shaw", "fire")
"""Encodings that see distances between tokens: digits stand alike in the layout `aligned` alone."""
COUPLING = ("abacus", "coupled")
"""Encodings that number digits by their place, so that they stand alike in any layout."""
RELATIVE = (*DISTANCE, *COUPLING)
LAPTOP_RELATIVE = ("rotary", "coupled")

SIZE = "micro"
SEEDS = 3
# Attention that cannot grow too sharp carries further; nothing needs ignoring, so there is no dropout.
SHAPE: dict[str, Any] = {"normalized_attention": True}
LAPTOP_SHAPE: dict[str, Any] = {"heads": 4, "dropout": 0.0, "normalized_attention": True}
# Hundreds of runs that are read by length: digit by digit they would fill tens of megabytes.
MEASURED: dict[str, Any] = {"details": False, "problems": 2_000}
# What theory takes for granted, that attention knows positions alone, made true: sums have such rows too.
BY_PLACE = "coupled-by-place"
OF_SUMS = (*RELATIVE, BY_PLACE)
BY_PLACE_SHAPE: dict[str, int] = {"width": 128, "context": 132}
LAPTOP_TRAINING: dict[str, Any] = {"steps": 1_200, "batch": 48, "learning_rate": 1e-3, "weight_decay": 0.1}


def run(task: str, train: str, test: str, encoding: str, tuning: Tuning, **changes: Any) -> RunConfig:
    """At full scale. These experiments are ours, so they start from the preset `fast` whatever was asked for."""
    start = muon(task, SIZE).changed(train=train, test=test, encoding=encoding, evaluation=MEASURED, **changes)
    return tuning.applied(start).changed(model=SHAPE)


def sums(train: str, test: str, name: str, tuning: Tuning) -> RunConfig:
    """With an encoding, or by one layer that attends by place alone, as in the recipes of long operands."""
    if name != BY_PLACE:
        return run("add", train, test, name, tuning)
    start = far.by_place("coupled", train, test, far.BY_PLACE_TUNING, **BY_PLACE_SHAPE)
    return start.changed(evaluation=MEASURED)


def laptop_run(task: str, train: str, test: str, encoding: str, **changes: Any) -> RunConfig:
    start = small(task, train, test).changed(encoding=encoding, **changes)
    return start.changed(model=LAPTOP_SHAPE, training=LAPTOP_TRAINING)


def safe(name: str) -> str:
    """For the names of folders.

    >>> safe("randomized:fire"), safe("add%101")
    ('randomized-fire', 'add-mod-101')
    """
    return name.replace("%", "-mod-").replace(":", "-")
