"""Where training shows too little of the top digit, shorter operands fail; not so if it shows all lengths."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes import addition
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Row, Setting, full_scale

# What a row is called, and what it is trained on.
ROWS = {"D4-lead6": "D4[lead>=6]", "D1..9": "D1..9"}
LAPTOP_ROWS = {"D2-lead3": "D2[lead>=3]", "D1..3": "D1..3"}


def rows(setting: Setting) -> list[Row]:
    """The row B4 is the one of the addition tables."""
    named = LAPTOP_ROWS if setting.laptop else ROWS
    both_long = "B2" if setting.laptop else "B4"
    return [
        *(Row(f"counterexample-{name}", config(setting, train)) for name, train in named.items()),
        *(row for row in addition.rows(setting) if row.name == f"addition-{both_long}"),
    ]


def config(setting: Setting, train: str) -> RunConfig:
    run = small("add", train) if setting.laptop else full_scale(setting, "add", train, "D1..9")
    return run.changed(evaluation=addition.MEASURED)


COUNTEREXAMPLE = Recipe(
    "counterexample",
    "what D4[lead>=6] and B4 do below their length; the same model on D1..9 can do it all",
    rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
