"""Three models watched closely while they learn: what the figures on accuracy, digits and R2 are drawn from."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes import modular, multiplication
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

# Learning is over after some 300 steps, so looks are frequent and the run is short.
TUNING = Tuning(steps=800, batch=256, dropout=0.1, decay=0.05, evaluate_every=10)
ROWS = ("D4", "D5", "D4+D5")
LAPTOP_ROWS = ("D2", "D3", "D2+D3")
MEASURED = {"digits": True, "dynamics": True, "interim_problems": 500}


def rows(setting: Setting) -> list[Row]:
    return [
        Row(f"dynamics-{train}", config(setting, train)) for train in (LAPTOP_ROWS if setting.laptop else ROWS)
    ]


def config(setting: Setting, train: str) -> RunConfig:
    """Tested on each length, and on one sample of all lengths together, the paper's D<=9."""
    if setting.laptop:
        run = small("add", train, each_and_all(4)).changed(base=4, training={"evaluate_every": 250})
        return run.changed(evaluation=MEASURED)
    return full_scale(setting, "add", train, each_and_all(9), TUNING).changed(evaluation=MEASURED)


def each_and_all(longest: int) -> str:
    """
    >>> each_and_all(3)
    'D1..3,D1+D2+D3'
    """
    return f"D1..{longest}," + "+".join(f"D{n}" for n in range(1, longest + 1))


def digit_accuracy_rows(setting: Setting) -> list[Row]:
    return [
        *rows(setting),
        *modular.addition_rows(setting),
        *multiplication.rows(setting),
        *modular.multiplication_rows(setting),
    ]


ACCURACY_BY_DOMAIN = Recipe("accuracy-by-domain", "accuracy on D1 to D9 through training, for D4, D5, D4+D5", rows)
DIGIT_ACCURACY = Recipe(
    "digit-accuracy", "digit-wise accuracy through training, for all four tasks", digit_accuracy_rows
)
DIGIT_DYNAMICS = Recipe("digit-dynamics", "which digits are learned when: R2, correlation, learning order", rows)
