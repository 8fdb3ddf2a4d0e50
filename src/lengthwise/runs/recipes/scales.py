"""Model sizes and sample sizes: loss and in-distribution accuracy, and whether D4+D5 is easier than D5."""

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.laptop import small
from lengthwise.runs.recipes.recipe import Recipe, Row, Setting, Tuning, full_scale

TUNING = Tuning(steps=2_000, batch=256, dropout=0.1, decay=0.05, evaluate_every=100)
SIZES = ("nano", "micro", "mini")
SAMPLES = {"100k": 100_000, "200k": 200_000}
TRAIN = ("D4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7")
TEST = "D9"  # the figure shows training domains; one length beyond tells whether the rest is ignored
LAPTOP_WIDTHS = {"width32": 32, "width64": 64}
LAPTOP_SAMPLES = {"300": 300, "1k": 1_000}
LAPTOP_TRAIN = ("D2", "D1+D2")


def rows(setting: Setting) -> list[Row]:
    sizes, samples, domains = (
        (LAPTOP_WIDTHS, LAPTOP_SAMPLES, LAPTOP_TRAIN) if setting.laptop else (SIZES, SAMPLES, TRAIN)
    )
    return [
        Row(f"scales-{size}-{count}-{train}", config(setting, size, samples[count], train))
        for size in sizes
        for count in samples
        for train in domains
    ]


def config(setting: Setting, size: str, samples: int, train: str) -> RunConfig:
    if setting.laptop:
        run = small("add", train).changed(model={"width": LAPTOP_WIDTHS[size]})
        run = run.changed(training={"steps": 1_000, "evaluate_every": 100})
    else:
        run = full_scale(setting, "add", train, TEST, TUNING, size=size)
    return run.changed(data={"samples": samples})


SCALES = Recipe("scales", "nano, micro, mini on 100k and 200k samples: is D4+D5 easier than D5?", rows)
