"""The paper's two tables on modular addition: eight moduli, trained on up to four digits, tested on B1 to B9."""

from dataclasses import replace

from lengthwise.experiments.recipes.modular import ModularTable
from lengthwise.experiments.recipes.recipe import Recipe, Tuning

# Positions that outweigh tokens, dropout and decay make a model ignore digits it never saw. Modulus 51 learns
# slowly under decay, and far sooner where short operands are as frequent as long ones; other moduli that
# divide no power of ten need positions that outweigh tokens tenfold.
TUNING = Tuning(steps=12_000, batch=256, dropout=0.1, decay=0.3, position_std=1.2)
LIGHT = replace(TUNING, decay=0.1)
PLACED = replace(TUNING, position_std=3.0)
STRONG = replace(PLACED, dropout=0.2)
BALANCED = replace(PLACED, sampling="balanced")
# The paper trains on D4, and primes 150 with shorter operands; from D4 alone most moduli do not get going.
# Columns that a row's training holds are marked in the tables.
TABLE = ModularTable(
    name="modular-addition",
    operation="add",
    moduli={
        50: ("D4", LIGHT),
        51: ("D1..4", BALANCED),
        100: ("D4", LIGHT),
        101: ("D1..4", PLACED),
        150: ("D1..4", STRONG),
        151: ("D1..4", PLACED),
        200: ("D1..4", TUNING),
        201: ("D1..4", PLACED),
    },
    paper_train="D4",
    paper_exceptions={150: "D1..4"},
    laptop_moduli=(35, 36),
)
rows = TABLE.rows

MODULAR_ADDITION = Recipe("modular-addition", "both tables on addition modulo p, for p = 50 to 201", rows)
