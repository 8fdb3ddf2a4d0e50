"""What of length generalization is learned, and what is built in: the recipe of 1,000 digits without one of its
ingredients, whether models read carries off their own answers, one modulus in two bases, and what makes a model
ignore digits that it never saw."""

from itertools import product
from typing import Any

from lengthwise.recipes.long_operands import coupled
from lengthwise.recipes.presets import Setting, fast, small
from lengthwise.recipes.recipe import FRESH_SEEDS, Decide, Recipe, Rows, as_predicted_where, modulus_divides
from lengthwise.recipes.relative import LAPTOP_RELATIVE, OF_SUMS, laptop_run, sums

SEEDS = range(71, 74)
MORE_SEEDS = range(71, 76)

# What is changed of the recipe in each row.
LADDER: dict[str, dict[str, Any]] = {
    "recipe": {},
    "attention-frozen": {"model": {"frozen_attention": True}},
    "started-on-wrong-columns": {"model": {"head_start": "far"}},
    "started-anywhere": {"model": {"head_start": "random"}},
    "without-clipping": {"model": {"attention_clip": 0.0}},
    "without-null-key": {"model": {"null_key": False}},
    "without-packing": {"data": {"packing": "lines", "row_tokens": None}},
    "without-equal-widths": {"layout": "reversed"},
    "without-log-scale": {"model": {"log_length_scale": False}},
    "without-offsets": {"data": {"offsets": False}},
    "content-heads-beside": {"model": {"token_heads": 2}},
    "content-attention": {"model": {"place_attention": False}},
}
SETS = ("lopsided", "carry", "alternating", "repeated", "zeros", "sparse")
MEASURED: dict[str, Any] = {"problems": 200, "sets": SETS}
# The circle has 1,031 positions, and the longest answer that fits has one digit less.
AROUND_THE_END = (1_026, 1_029)
LENGTHS = (20, 25, 30, 50, 100, 200, 350, 500, 700, 1_000, *AROUND_THE_END)
FIFTY = (*range(20, 1_001, 20), *AROUND_THE_END)


def _domains(lengths: tuple[int, ...]) -> str:
    return ",".join(f"D{n}" for n in lengths)


def ladder_rows(setting: Setting) -> Rows:
    """Each ingredient removed alone, all else as in `coupled-1000`."""
    start = coupled(setting, "D1..20", _domains(LENGTHS), context=1_032).changed(evaluation=MEASURED)
    return {f"prior-{name}": start.changed(**changes) for name, changes in LADDER.items()}


def lengths_rows(setting: Setting) -> Rows:
    """The recipe itself, at fifty lengths."""
    start = coupled(setting, "D1..20", _domains(FIFTY), context=1_032)
    return {"prior-lengths": start.changed(evaluation=MEASURED)}


# What a layout is called here, and the change that makes it; the natural one writes the lowest digit first.
ORDERS: dict[str, dict[str, Any]] = {"lowest-first": {}, "highest-first": {"layout": "descending"}}


def carry_rows(setting: Setting) -> Rows:
    """Sums of exactly four digits, tested upward and by carry chain. Where the lowest digit is written first, an
    answer digit is changed to see whether the next one follows it; where the highest is, no carry can be read."""
    encodings, n = (LAPTOP_RELATIVE, 3) if setting.laptop else (OF_SUMS, 4)
    rows: Rows = {}
    for name, (order, change) in product(encodings, ORDERS.items()):
        start = laptop_run("add", f"D{n}", "D1..5", name) if setting.laptop else sums(f"D{n}", "D1..10", name)
        measured = {"chains": True, "hypotheses": (f"windowed:{n}", f"windowed:{n + 1}")}
        asked = {} if change else {"changed_digits": 1_000}
        rows[f"carry-{name}-{order}"] = start.changed(**change, evaluation={**measured, **asked})
    return rows


# A modulus, a base of which it divides a power, and one of which it divides none.
MODULI = {81: (9, 10), 49: (7, 10), 64: (8, 9)}
LAPTOP_MODULI = {16: (4, 5)}


def bases_rows(setting: Setting) -> Rows:
    """The same residues, written in two bases: only how numbers are written differs."""
    moduli = LAPTOP_MODULI if setting.laptop else MODULI
    asked = [(op, p, base) for op in ("add", "mul") for p, bases in moduli.items() for base in bases]
    return {
        f"bases-{op}-{p}-base{base}": (
            small(f"{op}%{p}", "D2") if setting.laptop else fast(f"{op}%{p}").changed(train="D3")
        ).changed(base=base)
        for op, p, base in asked
    }


POSITION_STDS, DECAYS, DROPOUTS = (0.3, 1.0, 3.0, 6.0), (0.01, 0.1, 0.3), (0.0, 0.1, 0.2)
LAPTOP_POSITION_STDS, LAPTOP_DECAYS, LAPTOP_DROPOUTS = (0.5, 1.5), (0.3,), (0.1,)


def unseen_rows(setting: Setting) -> Rows:
    """Size of position embeddings, weight decay and dropout: what makes a model ignore digits it never saw?"""
    grid = (
        (LAPTOP_POSITION_STDS, LAPTOP_DECAYS, LAPTOP_DROPOUTS)
        if setting.laptop
        else (POSITION_STDS, DECAYS, DROPOUTS)
    )
    start = small("add", "D2") if setting.laptop else fast("add", "micro").changed(test="D1..9")
    return {
        f"unseen-positions{std:g}-decay{decay:g}-dropout{dropout:g}": start.changed(
            model={"position_std": std, "dropout": dropout},
            training={"weight_decay": decay},
            evaluation={"dependence": True},
        )
        for std, decay, dropout in product(*grid)
    }


def _where(divides: bool, operation: str) -> Decide:
    """What theory says of residues whose modulus divides a power of the base, or of those where it does not."""
    return as_predicted_where(lambda run: modulus_divides(run) == divides and run.task.operation == operation)


RECIPES = (
    Recipe("prior-ladder", ladder_rows, SEEDS),
    Recipe("prior-lengths", lengths_rows, MORE_SEEDS),
    Recipe("carry-reading", carry_rows, FRESH_SEEDS),
    Recipe(
        "base-or-modulus",
        bases_rows,
        FRESH_SEEDS,
        theorems={
            "Theorem 4, bases": _where(True, "add"),
            "Theorem 5, bases": _where(False, "add"),
            "Theorem 7 (1), bases": _where(True, "mul"),
            "Theorem 7 (2), bases": _where(False, "mul"),
        },
    ),
    Recipe("unseen-digits", unseen_rows, FRESH_SEEDS[:2]),
)
