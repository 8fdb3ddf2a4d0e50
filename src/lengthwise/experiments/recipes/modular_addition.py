"""The paper's two tables on modular addition: eight moduli, trained on up to four digits, tested on B1 to B9."""

from dataclasses import replace

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.laptop import small
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

# Positions that outweigh tokens, dropout and decay make a model ignore digits it never saw. Modulus 51 learns
# slowly under decay, 150 needs more dropout.
TUNING = Tuning(steps=12_000, batch=256, dropout=0.1, decay=0.3, position_std=1.2)
LIGHT = replace(TUNING, decay=0.1)
STRONG = replace(TUNING, dropout=0.2)
# The paper trains on D4, and primes 150 with shorter operands; from D4 alone most moduli do not get going.
# Columns that a row's training holds are marked in the tables.
ROWS: dict[int, tuple[str, Tuning]] = {
    50: ("D4", LIGHT),
    51: ("D1..4", LIGHT),
    100: ("D4", LIGHT),
    101: ("D1..4", TUNING),
    150: ("D1..4", STRONG),
    151: ("D1..4", TUNING),
    200: ("D1..4", TUNING),
    201: ("D1..4", TUNING),
}
PAPER_TRAIN = {150: "D1..4"}
ANSWER_WIDTH = 3
LAPTOP_MODULI = (35, 36)
MEASURED = {"digits": True, "dependence": True}


def rows(setting: Setting) -> list[Row]:
    moduli = LAPTOP_MODULI if setting.laptop else ROWS
    return [Row(f"modular-addition-p{modulus}", config(setting, modulus)) for modulus in moduli]


def config(setting: Setting, modulus: int) -> RunConfig:
    task = f"add%{modulus}"
    if setting.laptop:
        return small(task, "D1+D2", "B1..3").changed(evaluation=MEASURED)
    train, tuning = ROWS[modulus]
    if setting.preset == "paper":
        train = PAPER_TRAIN.get(modulus, "D4")
    run = full_scale(setting, task, train, "B1..9", tuning, answer_width=ANSWER_WIDTH)
    return run.changed(evaluation=MEASURED)


MODULAR_ADDITION = Recipe("modular-addition", "both tables on addition modulo p, for p = 50 to 201", rows)
