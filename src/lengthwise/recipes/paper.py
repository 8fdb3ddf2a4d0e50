"""The paper's tables: sums, products and residues, against truth and against truncated operands.

Models are MiniGPT, and MicroGPT for products of up to two digits. Sums of residues are trained on D4 and products
of residues on D3, as the paper has it (it primes one row, sums modulo 150, with shorter operands; here no row is).
"""

from typing import Any

from lengthwise.recipes.claims import Words, as_predicted, each, modulus_divides
from lengthwise.recipes.presets import Setting, full_scale, small
from lengthwise.recipes.recipe import FRESH_SEED, FRESH_SEEDS, Recipe, Rows
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

SUM_TRAIN, LAPTOP_SUM_TRAIN = ("D4", "B4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7"), ("B2", "D1+D2")
PAPER_SAMPLES = {"D6+D7": 120_000}
# What products are trained on, and the model's size. The last one is a row that the paper's source has and its
# tables leave out.
PRODUCT_TRAIN = {"D1+D2": "micro", "D2": "micro", "D3": "mini", "D2+D3+D4": "mini", "D3+D4": "mini"}
LAPTOP_PRODUCT_TRAIN = ("D1+D2",)
SUM_MODULI, LAPTOP_SUM_MODULI = (50, 51, 100, 101, 150, 151, 200, 201), (35, 36)
PRODUCT_MODULI, LAPTOP_PRODUCT_MODULI = (50, 51, 100, 101, 150, 200, 201), (13, 16)
RESIDUE_TRAIN = {"add": "D4", "mul": "D3"}
PAPER_RESIDUE_TRAIN = {"add%150": "D1..4"}
RESIDUE_WIDTH = 3

OF_SUMS: dict[str, Any] = {"dependence": True}
OF_OTHERS: dict[str, Any] = {"digits": True, "dependence": True}


def addition_rows(setting: Setting) -> Rows:
    return {
        f"addition-{train}": sums(setting, train) for train in (LAPTOP_SUM_TRAIN if setting.laptop else SUM_TRAIN)
    }


def sums(setting: Setting, train: str) -> RunConfig:
    """Trained there, tested on D1 to D9."""
    if setting.laptop:
        return small("add", train).changed(evaluation=OF_SUMS)
    run = full_scale(setting, "add", train, "D1..9").changed(evaluation=OF_SUMS)
    if setting.preset == "paper" and train in PAPER_SAMPLES:
        return run.changed(data={"samples": PAPER_SAMPLES[train]})
    return run


def multiplication_rows(setting: Setting) -> Rows:
    if setting.laptop:
        found = {train: small("mul", train) for train in LAPTOP_PRODUCT_TRAIN}
    else:
        found = {t: full_scale(setting, "mul", t, "D1..9", size=size) for t, size in PRODUCT_TRAIN.items()}
    return {f"multiplication-{train}": run.changed(evaluation=OF_OTHERS) for train, run in found.items()}


def modular_addition_rows(setting: Setting) -> Rows:
    moduli = LAPTOP_SUM_MODULI if setting.laptop else SUM_MODULI
    return {f"modular-addition-p{p}": _residues(setting, "add", p) for p in moduli}


def modular_multiplication_rows(setting: Setting) -> Rows:
    moduli = LAPTOP_PRODUCT_MODULI if setting.laptop else PRODUCT_MODULI
    return {f"modular-multiplication-p{p}": _residues(setting, "mul", p) for p in moduli}


def _residues(setting: Setting, operation: str, modulus: int) -> RunConfig:
    task, train = f"{operation}%{modulus}", RESIDUE_TRAIN[operation]
    if setting.laptop:
        return small(task, "D1+D2", "B1..3").changed(evaluation=OF_OTHERS)
    if setting.preset == "paper":
        train = PAPER_RESIDUE_TRAIN.get(task, train)
    return full_scale(setting, task, train, "B1..9", answer_width=RESIDUE_WIDTH).changed(evaluation=OF_OTHERS)


def table_rows(setting: Setting) -> Rows:
    """The rows of all tables of the paper."""
    tables = (addition_rows, modular_addition_rows, multiplication_rows, modular_multiplication_rows)
    return {name: config for rows in tables for name, config in rows(setting).items()}


def _where_divides(run: RunView) -> Words:
    return as_predicted(run) if modulus_divides(run) else []


def _elsewhere(run: RunView) -> Words:
    return [] if modulus_divides(run) else as_predicted(run)


ADDITION = Recipe(
    "addition", addition_rows, FRESH_SEEDS, FRESH_SEED, theorems={"Theorem 1, Corollary 2": each(as_predicted)}
)
MODULAR_ADDITION = Recipe(
    "modular-addition",
    modular_addition_rows,
    FRESH_SEEDS,
    FRESH_SEED,
    theorems={"Theorem 4": each(_where_divides), "Theorem 5": each(_elsewhere)},
)
MULTIPLICATION = Recipe(
    "multiplication", multiplication_rows, FRESH_SEEDS, FRESH_SEED, theorems={"Theorem 6": each(as_predicted)}
)
MODULAR_MULTIPLICATION = Recipe(
    "modular-multiplication",
    modular_multiplication_rows,
    FRESH_SEEDS,
    FRESH_SEED,
    theorems={"Theorem 7 (1)": each(_where_divides), "Theorem 7 (2)": each(_elsewhere)},
)
