"""Which operand digits an answer digit depends on: rows of the four tables, asked by intervention."""

from lengthwise.runs.recipes import addition, modular, multiplication
from lengthwise.runs.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Row, Setting

CHOSEN = {
    "addition-D4",
    "addition-D4+D5",
    "modular-addition-p100",
    "modular-addition-p101",
    "modular-addition-p150",
    "multiplication-D2",
    "modular-multiplication-p100",
    "modular-multiplication-p101",
}
LAPTOP_CHOSEN = {"addition-D1+D2", "modular-addition-p35", "modular-addition-p36"}


def table_rows(setting: Setting) -> list[Row]:
    """The rows of all tables of the paper."""
    tables = (addition.rows, modular.addition_rows, multiplication.rows, modular.multiplication_rows)
    return [row for rows_of in tables for row in rows_of(setting)]


def rows(setting: Setting) -> list[Row]:
    chosen = LAPTOP_CHOSEN if setting.laptop else CHOSEN
    return [row for row in table_rows(setting) if row.name in chosen]


DEPENDENCE = Recipe(
    "dependence",
    "how often changing operand digit j changes answer digit i, beside theory",
    rows,
    seeds=FRESH_SEEDS,
    first_seed=FRESH_SEED,
)
