"""The paper's tables: sums, products and residues, against truth and against truncated operands.

Models are MiniGPT, and MicroGPT for products of up to two digits. Sums of residues are trained on D4 and products
of residues on D3, as the paper has it (it primes one row, sums modulo 150, with shorter operands; here no row is).
"""

from typing import Any

from lengthwise.experiments.config import RunConfig
from lengthwise.recipes.claims import as_predicted, each, modulus_divides
from lengthwise.recipes.presets import Setting, full_scale, small
from lengthwise.recipes.recipe import FRESH_SEED, FRESH_SEEDS, TABLES, Claim, Figure, Recipe, Rows, RowsOf, Table

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


TABLE_WORDS = (
    "Percent of right answers. measured: the mean over seeds, and their spread where there are several. exact: "
    "what theory says, computed, not approximated. paper: what the paper printed. †: the length was in the "
    "training domain. –: no number."
)


def _recipe(
    name: str, purpose: str, rows: RowsOf, theorems: tuple[Claim, ...], without: tuple[tuple[str, str], ...] = ()
) -> Recipe:
    words, files = name.replace("-", " "), name.replace("-", "_")
    return Recipe(
        name=name,
        purpose=purpose,
        rows=rows,
        seeds=FRESH_SEEDS,
        first_seed=FRESH_SEED,
        section=TABLES,
        title=words.capitalize(),
        words=TABLE_WORDS,
        tables=(
            Table(f"{files}_true_acc", "paper.against_truth", "paper.against_truth_data", without=without),
            Table(
                f"{files}_modular_acc",
                "paper.against_truncated",
                "paper.against_truncated_data",
                truncated=True,
                without=without,
            ),
        ),
        figures=(
            Figure(
                name=f"accuracy-by-length-{name}",
                title=f"Accuracy by length: {words}",
                caption=(
                    "A panel for each trained model: dots are the share of right answers on operands of each "
                    "length, dashes what theory says it must be, and grey marks the lengths trained on. Where "
                    "dots sit on dashes the theory holds, whether it foretells success or failure."
                ),
                alt=f"Small panels of accuracy by operand length for {words}, measured dots on predicted dashes.",
                drawn_by="by_length.accuracy_by_length",
                rows=rows,
            ),
        ),
        theorems=theorems,
    )


ADDITION = _recipe(
    "addition",
    "both tables on addition, against truth and against truncated operands",
    addition_rows,
    (
        Claim(
            "Theorem 1, Corollary 2",
            "Addition, absolute positions: trained on n digits, the model computes (a mod 10^n) + (b mod 10^n), "
            "so it is right on shorter operands and wrong on longer ones",
            each(as_predicted),
        ),
    ),
)
MODULAR_ADDITION = _recipe(
    "modular-addition",
    "both tables on addition modulo p, for p = 50 to 201",
    modular_addition_rows,
    (
        Claim(
            "Theorem 4",
            "Addition modulo p where p divides 10^n: it generalizes to all lengths",
            each(lambda run: as_predicted(run) if modulus_divides(run) else []),
        ),
        Claim(
            "Theorem 5",
            "Addition modulo p where p does not divide 10^n, absolute positions: the model computes on the last n "
            "digits, and is right on longer operands only by chance",
            each(lambda run: [] if modulus_divides(run) else as_predicted(run)),
        ),
    ),
)
MULTIPLICATION = _recipe(
    "multiplication",
    "both tables on multiplication, on up to two, three and four digits",
    multiplication_rows,
    (
        Claim(
            "Theorem 6",
            "Multiplication, absolute positions: the model multiplies the last n digits",
            each(as_predicted),
        ),
    ),
    # D2 never shows two operands of one digit, so those products rest on what the model makes of zeros it has met
    # in one operand alone.
    without=(("D2", "D1"),),
)
MODULAR_MULTIPLICATION = _recipe(
    "modular-multiplication",
    "both tables on multiplication modulo p, for p = 50 to 201",
    modular_multiplication_rows,
    (
        Claim(
            "Theorem 7 (1)",
            "Multiplication modulo p where p divides 10^n: it generalizes to all lengths",
            each(lambda run: as_predicted(run) if modulus_divides(run) else []),
        ),
        Claim(
            "Theorem 7 (2)",
            "Multiplication modulo p where p does not divide 10^n, absolute positions: the model computes on the "
            "last n digits",
            each(lambda run: [] if modulus_divides(run) else as_predicted(run)),
        ),
    ),
)
