"""Controls beside the paper's tables, one row of each family: with the paper's amount of data, and with all of its
hyperparameters."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.dependence import table_rows
from lengthwise.runs.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Row, Setting

CHOSEN = ("addition-D4", "modular-addition-p101", "multiplication-D3", "modular-multiplication-p51")
LAPTOP_CHOSEN = ("addition-D1+D2", "modular-addition-p35")
SAMPLES, LAPTOP_SAMPLES = 100_000, 500
SECONDS = 150
"""Of training for each row as printed: ten minutes in all."""


def fixed_rows(setting: Setting) -> list[Row]:
    """Nine tenths of the samples are trained on, 90,000 as in the paper. What is fixed cannot be made sparse."""
    samples = LAPTOP_SAMPLES if setting.laptop else SAMPLES
    return [
        Row(f"fixed-samples-{name}", config.changed(data={"samples": samples, "sparse": 0.0}))
        for name, config in _chosen(setting).items()
    ]


def printed_rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        return [Row(f"as-printed-{name}", config) for name, config in _chosen(setting).items()]
    return [
        Row(f"as-printed-{name}", config.changed(training={"seconds": SECONDS}))
        for name, config in _chosen(Setting(preset="paper")).items()
    ]


def _chosen(setting: Setting) -> dict[str, RunConfig]:
    configs = {row.name: row.config for row in table_rows(setting)}
    return {name: configs[name] for name in (LAPTOP_CHOSEN if setting.laptop else CHOSEN)}


FIXED_SAMPLES = Recipe(
    "fixed-samples",
    "one row of each table on 90,000 fixed samples instead of fresh ones",
    fixed_rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
AS_PRINTED = Recipe(
    "as-printed",
    "one row of each table with the paper's own hyperparameters, for ten minutes in all",
    printed_rows,
    first_seed=FRESH_SEED,
)
