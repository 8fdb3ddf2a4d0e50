"""The paper's two tables on multiplication: MicroGPT on up to two digits, MiniGPT on more, tested on D1 to D9."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Row, Setting, full_scale

# The last one is a row that the paper's source has and its tables leave out.
ROWS = {"D1+D2": "micro", "D2": "micro", "D3": "mini", "D2+D3+D4": "mini", "D3+D4": "mini"}
LAPTOP_ROWS = ("D1+D2",)
MEASURED = {"digits": True, "dependence": True}


def rows(setting: Setting) -> list[Row]:
    domains = LAPTOP_ROWS if setting.laptop else ROWS
    return [Row(f"multiplication-{train}", config(setting, train)) for train in domains]


def config(setting: Setting, train: str) -> RunConfig:
    if setting.laptop:
        return small("mul", train).changed(evaluation=MEASURED)
    return full_scale(setting, "mul", train, "D1..9", size=ROWS[train]).changed(evaluation=MEASURED)


MULTIPLICATION = Recipe(
    "multiplication",
    "both tables on multiplication, on up to two, three and four digits",
    rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
