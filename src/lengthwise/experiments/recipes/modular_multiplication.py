"""The paper's two tables on modular multiplication: seven moduli, trained on D3, tested on B1 to B9."""

from lengthwise.experiments.recipes.modular import ModularTable
from lengthwise.experiments.recipes.recipe import Recipe, Tuning

TUNING = Tuning(steps=6_000, batch=512, dropout=0.0, decay=0.1, position_std=1.2, evaluate_every=1_000)
TABLE = ModularTable(
    name="modular-multiplication",
    operation="mul",
    moduli=dict.fromkeys((50, 51, 100, 101, 150, 200, 201), ("D3", TUNING)),
    paper_train="D3",
    laptop_moduli=(13, 16),
)
rows = TABLE.rows

MODULAR_MULTIPLICATION = Recipe(
    "modular-multiplication",
    "both tables on multiplication modulo p, converged as far as time allows",
    rows,
)
