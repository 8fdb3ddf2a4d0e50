"""The paper's two tables on addition: trained on D4, B4, D5, D6, D7 and mixtures, tested on D1 to D9."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Row, Setting, full_scale

ROWS = ("D4", "B4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7")
LAPTOP_ROWS = ("B2", "D1+D2")
PAPER_SAMPLES = {"D6+D7": 120_000}
MEASURED = {"dependence": True}


def rows(setting: Setting) -> list[Row]:
    return [
        Row(f"addition-{train}", config(setting, train)) for train in (LAPTOP_ROWS if setting.laptop else ROWS)
    ]


def config(setting: Setting, train: str) -> RunConfig:
    if setting.laptop:
        return small("add", train).changed(evaluation=MEASURED)
    run = full_scale(setting, "add", train, "D1..9").changed(evaluation=MEASURED)
    if setting.preset == "paper" and train in PAPER_SAMPLES:
        return run.changed(data={"samples": PAPER_SAMPLES[train]})
    return run


ADDITION = Recipe(
    "addition",
    "both tables on addition, against truth and against truncated operands",
    rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
