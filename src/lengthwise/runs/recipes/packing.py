"""Training rows: one problem a line with padding, against problems one after another without."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

TUNING = Tuning(steps=4_000, batch=256, dropout=0.1, decay=0.05)
PACKINGS = ("lines", "concatenated")


def rows(setting: Setting) -> list[Row]:
    return [Row(f"packing-{packing}", config(setting, packing)) for packing in PACKINGS]


def config(setting: Setting, packing: str) -> RunConfig:
    """In the layout of the paper's example, `123+45=168`, where problems differ in length."""
    run = small("add", "D1+D2") if setting.laptop else full_scale(setting, "add", "D1..4", "D1..9", TUNING)
    return run.changed(layout="plain", data={"packing": packing})


PACKING = Recipe("packing", "line by line with padding, against concatenation without", rows)
