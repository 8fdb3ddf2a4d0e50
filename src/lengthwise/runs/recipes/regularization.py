"""A declared grid of dropout and weight decay: regularization decides whether unseen digits are ignored."""

from typing import NamedTuple

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

DROPOUT = (0.0, 0.1, 0.2)
DECAY = (0.0, 0.05, 0.3)
LAPTOP_DROPOUT, LAPTOP_DECAY = (0.0, 0.2), (0.0, 0.3)


class Representative(NamedTuple):
    """The row that stands for a table."""

    task: str
    train: str
    test: str
    size: str
    tuning: Tuning
    answer_width: int | None = None


SUMS = Tuning(steps=2_000, batch=256, evaluate_every=1_000)
PRODUCTS = Tuning(steps=4_000, batch=256, evaluate_every=1_000)
TABLES: dict[str, Representative] = {
    "add": Representative("add", "D4", "D1..9", "mini", SUMS),
    "add-mod-101": Representative("add%101", "D1..4", "B1..9", "mini", SUMS, 3),
    "mul": Representative("mul", "D2", "D1..9", "micro", PRODUCTS),
    "mul-mod-51": Representative("mul%51", "D3", "B1..9", "mini", PRODUCTS, 3),
}
LAPTOP_TASKS = ("add", "add%35")


def rows(setting: Setting) -> list[Row]:
    if setting.laptop:
        starts = {task.replace("%", "-mod-"): small(task, "D1+D2") for task in LAPTOP_TASKS}
        dropouts, decays = LAPTOP_DROPOUT, LAPTOP_DECAY
    else:
        starts = {name: _start(table) for name, table in TABLES.items()}
        dropouts, decays = DROPOUT, DECAY
    return [
        Row(f"regularization-{name}-dropout{dropout:g}-decay{decay:g}", _regularized(start, dropout, decay))
        for name, start in starts.items()
        for dropout in dropouts
        for decay in decays
    ]


def _start(table: Representative) -> RunConfig:
    """The grid is ours, so it starts from the preset `fast` whatever was asked for."""
    task, train, test, size, tuning, answer_width = table
    return full_scale(Setting(), task, train, test, tuning, size=size, answer_width=answer_width)


def _regularized(start: RunConfig, dropout: float, decay: float) -> RunConfig:
    return start.changed(model={"dropout": dropout}, training={"weight_decay": decay})


REGULARIZATION = Recipe("regularization", "a grid of dropout and decay for one row of each table", rows)
