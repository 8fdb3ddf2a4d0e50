"""The paper's two tables on multiplication: MicroGPT on up to two digits, MiniGPT on more, tested on D1 to D9."""

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.laptop import small
from lengthwise.experiments.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

SHORT = Tuning(steps=10_000, batch=512, dropout=0.1, decay=0.3, position_std=3.0, evaluate_every=1_000)
LONG = Tuning(steps=12_000, batch=512, dropout=0.0, decay=0.1, position_std=1.2, evaluate_every=1_000)
ROWS: dict[str, tuple[str, Tuning]] = {
    "D1+D2": ("micro", SHORT),
    "D2": ("micro", SHORT),
    "D3": ("mini", LONG),
    "D2+D3+D4": ("mini", LONG),
}
LAPTOP_ROWS = ("D1+D2",)
MEASURED = {"digits": True, "dependence": True}


def rows(setting: Setting) -> list[Row]:
    domains = LAPTOP_ROWS if setting.laptop else ROWS
    return [Row(f"multiplication-{train}", config(setting, train)) for train in domains]


def config(setting: Setting, train: str) -> RunConfig:
    if setting.laptop:
        return small("mul", train).changed(evaluation=MEASURED)
    size, tuning = ROWS[train]
    return full_scale(setting, "mul", train, "D1..9", tuning, size=size).changed(evaluation=MEASURED)


MULTIPLICATION = Recipe("multiplication", "both tables on multiplication, converged as far as time allows", rows)
