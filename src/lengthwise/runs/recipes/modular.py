"""The paper's four tables on residues: a row for each modulus, tested on B1 to B9.

Sums are trained on D4 and products on D3, as the paper has it (it primes one row, sums modulo 150, with shorter
operands; here no row is).
"""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Row, Setting, full_scale

ANSWER_WIDTH = 3
MEASURED = {"digits": True, "dependence": True}
SUM_MODULI, SUM_TRAIN, LAPTOP_SUM_MODULI = (50, 51, 100, 101, 150, 151, 200, 201), "D4", (35, 36)
PRODUCT_MODULI, PRODUCT_TRAIN, LAPTOP_PRODUCT_MODULI = (50, 51, 100, 101, 150, 200, 201), "D3", (13, 16)
PAPER_TRAIN = {"add%150": "D1..4"}


def addition_rows(setting: Setting) -> list[Row]:
    moduli = LAPTOP_SUM_MODULI if setting.laptop else SUM_MODULI
    return [Row(f"modular-addition-p{p}", _config(setting, f"add%{p}", SUM_TRAIN)) for p in moduli]


def multiplication_rows(setting: Setting) -> list[Row]:
    moduli = LAPTOP_PRODUCT_MODULI if setting.laptop else PRODUCT_MODULI
    return [Row(f"modular-multiplication-p{p}", _config(setting, f"mul%{p}", PRODUCT_TRAIN)) for p in moduli]


def _config(setting: Setting, task: str, train: str) -> RunConfig:
    if setting.laptop:
        return small(task, "D1+D2", "B1..3").changed(evaluation=MEASURED)
    if setting.preset == "paper":
        train = PAPER_TRAIN.get(task, train)
    return full_scale(setting, task, train, "B1..9", answer_width=ANSWER_WIDTH).changed(evaluation=MEASURED)


MODULAR_ADDITION = Recipe(
    "modular-addition",
    "both tables on addition modulo p, for p = 50 to 201",
    addition_rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
MODULAR_MULTIPLICATION = Recipe(
    "modular-multiplication",
    "both tables on multiplication modulo p, for p = 50 to 201",
    multiplication_rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
