"""Every encoding under one protocol: sums of up to 20 digits in training, up to 100 in testing.

All rows have the layout `reversed`, without padding, as McLeish has it. The natural layout of relative encodings,
`aligned`, pads every training problem to the longest one tested: at 100 digits five times the tokens, and a
training without short sequences. Position tables are learned here, as published. Every problem has a row of its
own, as evaluation has it: most encodings number tokens from a row's first one.
"""

from typing import Any

from lengthwise.runs.recipes.far import far
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning

TUNING = Tuning(steps=8_000, batch=384, dropout=0.0, decay=0.1, evaluate_every=2_000)
# With two layers of two heads t5 does not learn sums of 20 digits.
SHAPE: dict[str, Any] = {"layers": 4, "heads": 8, "width": 256}
CONTEXT, LAPTOP_CONTEXT = 400, 100
LAPTOP_TUNING = Tuning(steps=1_500, batch=64, dropout=0.0, decay=0.1, evaluate_every=500)
LAPTOP_SHAPE: dict[str, Any] = {"layers": 2, "heads": 4, "width": 64}
# What a row is called, and its encoding.
ROWS = {
    "coupled": "coupled",
    "abacus": "abacus",
    "fire-randomized": "randomized:fire",
    "t5": "t5",
    "rotary": "rotary",
    "alibi": "alibi",
    "none": "none",
}
WITH_TABLE = ("coupled", "abacus")
MEASURED: dict[str, Any] = {"sets": ("lopsided", "carry", "alternating"), "anatomy": 200}


def rows(setting: Setting) -> list[Row]:
    return [_row(setting, name, encoding) for name, encoding in ROWS.items()]


def _row(setting: Setting, name: str, encoding: str) -> Row:
    context = (LAPTOP_CONTEXT if setting.laptop else CONTEXT) if encoding in WITH_TABLE else None
    if setting.laptop:
        run = far("add", encoding, "D1..6", "D6..10,D20", LAPTOP_TUNING, **LAPTOP_SHAPE, context=context)
    else:
        run = far("add", encoding, "D1..20", "D20,D30,D40,D50,D100", TUNING, **SHAPE, context=context)
    return Row(f"long-encodings-{name}", run.changed(evaluation=MEASURED))


LONG_ENCODINGS = Recipe("long-encodings", "seven encodings under one protocol, trained on up to 20 digits", rows)
