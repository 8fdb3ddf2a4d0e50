"""The paper's two tables on modular multiplication: seven moduli, trained on D3, tested on B1 to B9."""

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.laptop import small
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

TUNING = Tuning(steps=20_000, batch=512, dropout=0.1, decay=0.05, evaluate_every=1_000)
ROWS: dict[int, tuple[str, Tuning]] = {
    50: ("D3", TUNING),
    51: ("D3", TUNING),
    100: ("D3", TUNING),
    101: ("D3", TUNING),
    150: ("D3", TUNING),
    200: ("D3", TUNING),
    201: ("D3", TUNING),
}
ANSWER_WIDTH = 3
LAPTOP_MODULI = (13, 16)
MEASURED = {"digits": True, "dependence": True}


def rows(setting: Setting) -> list[Row]:
    moduli = LAPTOP_MODULI if setting.laptop else ROWS
    return [Row(f"modular-multiplication-p{modulus}", config(setting, modulus)) for modulus in moduli]


def config(setting: Setting, modulus: int) -> RunConfig:
    task = f"mul%{modulus}"
    if setting.laptop:
        return small(task, "D1+D2", "B1..3").changed(evaluation=MEASURED)
    train, tuning = ROWS[modulus]
    if setting.preset == "paper":
        train = "D3"
    run = full_scale(setting, task, train, "B1..9", tuning, answer_width=ANSWER_WIDTH)
    return run.changed(evaluation=MEASURED)


MODULAR_MULTIPLICATION = Recipe(
    "modular-multiplication",
    "both tables on multiplication modulo p, converged as far as time allows",
    rows,
)
