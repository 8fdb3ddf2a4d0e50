"""Twenty questions that nobody chose: is the default setting a recipe, or a fit to the paper's rows?

Each is trained as `lengthwise train TASK --train Dn --base B` does it, with no other option.
"""

import random

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.presets import fast
from lengthwise.runs.recipes.recipe import FRESH_SEED, Recipe, Row, Setting

COUNT, LAPTOP_COUNT = 20, 2
DRAW = 2025
"""What the questions are drawn by. It was committed before any of them was trained."""
BASES = range(4, 17)
MODULI = range(3, 251)
LENGTHS = {"add": range(2, 6), "mul": range(2, 4)}


def rows(setting: Setting) -> list[Row]:
    draws = random.Random(DRAW)
    drawn = [_question(draws, setting) for _ in range(LAPTOP_COUNT if setting.laptop else COUNT)]
    return [Row(f"questions-{k:02}", config) for k, config in enumerate(drawn, start=1)]


def _question(draws: random.Random, setting: Setting) -> RunConfig:
    """Sum or product, with a modulus or without, a base and a length: each alike, independently."""
    operation, modular = draws.choice(sorted(LENGTHS)), draws.choice([False, True])
    base, modulus, length = draws.choice(BASES), draws.choice(MODULI), draws.choice(LENGTHS[operation])
    task = f"{operation}%{modulus}" if modular else operation
    if setting.laptop:
        return small(task, "D2").changed(base=4)
    return fast(task).changed(train=f"D{length}", base=base)


QUESTIONS = Recipe(
    "questions",
    "twenty tasks, bases and lengths drawn at random, trained with no option: how many predictions hold?",
    rows,
    first_seed=FRESH_SEED,
)
