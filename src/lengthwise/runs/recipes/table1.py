"""The paper's Table 1 measured, and its extension: every encoding on the four tasks under one protocol.

Each encoding is trained in its natural layout, and those that see distances in `padded` too, where digits do not
stand alike and Theorem 3 says nothing. Products are trained on up to two digits, all that a small model learns in
the budget, sums on up to four.
"""

from dataclasses import replace
from typing import NamedTuple

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning
from lengthwise.runs.recipes.relative import DISTANCE, SEEDS, SHAPE, run, safe
from lengthwise.theory.encodings import encoding_facts

# Decay and positions that outweigh tokens let absolute positions ignore digits they never saw.
# Residues are learned far sooner where short operands are as frequent as long ones.
TUNING = Tuning(
    steps=2_500,
    batch=128,
    dropout=0.1,
    decay=0.3,
    position_std=1.2,
    sampling="balanced",
    evaluate_every=1_250,
)
# Products and residues modulo 101 take more steps, and are not learned to the end under dropout.
HARDER = replace(TUNING, dropout=0.0, decay=0.1)
OF_TASK = {
    "mul": replace(HARDER, steps=4_000, evaluate_every=2_000),
    "add%101": replace(HARDER, steps=6_000, evaluate_every=3_000),
}
WIDTH = 8
SUM_TRAIN, PRODUCT_TRAIN, TEST = "D1..4", "D1..2", f"D1..{WIDTH}"
ENCODINGS = (
    "none",
    "learned",
    "sinusoidal",
    *DISTANCE,
    "abacus",
    "coupled",
    "randomized:fire",
    "randomized:rotary",
)
TASKS = ("add", "mul", "add%100", "add%101")

# In base 6, 36 divides a power of the base and 35 does not; products are in base 4.
LAPTOP_ENCODINGS = ("learned", "rotary", "coupled")
LAPTOP_TASKS = ("add", "mul", "add%36", "add%35")
LAPTOP_WIDTH, LAPTOP_TRAIN, LAPTOP_TEST = 4, "D1..2", "D1..4"


class Positions(NamedTuple):
    encoding: str
    layout: str | None = None
    """Where it is not the natural one."""


FULL = (*map(Positions, ENCODINGS), *(Positions(encoding, "padded") for encoding in DISTANCE))
LAPTOP = tuple(map(Positions, LAPTOP_ENCODINGS))


def rows(setting: Setting) -> list[Row]:
    every, tasks = (LAPTOP, LAPTOP_TASKS) if setting.laptop else (FULL, TASKS)
    return [
        Row(f"table1-{row_name(positions)}-{safe(task)}", config(setting, positions, task))
        for positions in every
        for task in tasks
    ]


def row_name(positions: Positions) -> str:
    return "-".join([safe(positions.encoding), *([positions.layout] if positions.layout else [])])


def config(setting: Setting, positions: Positions, task: str) -> RunConfig:
    width = LAPTOP_WIDTH if setting.laptop else WIDTH
    data = {"operand_width": width, "answer_width": answer_width(positions, task, width)}
    changes = {"layout": positions.layout, "data": data}
    if setting.laptop:
        # Regularized as for absolute positions: what all encodings share has to let those ignore unseen digits.
        start = small(task, LAPTOP_TRAIN, LAPTOP_TEST)
        return start.changed(encoding=positions.encoding, model=SHAPE, **changes)
    train = PRODUCT_TRAIN if task == "mul" else SUM_TRAIN
    return run(task, train, TEST, positions.encoding, OF_TASK.get(task, TUNING), **changes)


def answer_width(positions: Positions, task: str, width: int) -> int:
    """Answers as wide as the widest, a product's: those of one budget then train as one program.

    Not so where digits stand aligned. There a digit of a sum that lies further up than operands reach would find
    the answer's own lowest digits at the distances at which all others find the operands'.
    """
    aligned = (positions.layout or encoding_facts(positions.encoding).layout) == "aligned"
    return width + 1 if aligned and task != "mul" else 2 * width


TABLE1 = Recipe(
    "table1", "the paper's Table 1, and every encoding on its four tasks: the leaderboard", rows, seeds=SEEDS
)
