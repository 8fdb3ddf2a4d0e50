"""The demo's runs: the paper's Table 1 in miniature, small enough for two CPU cores and three minutes.

Every model is trained on operands of one and two digits and tested on up to three. Sums are in base 6, where
36 = 6^2 divides a power of the base and 35 does not, products in base 4. Absolute positions are `learned`,
relative ones `coupled`.
"""

from lengthwise.experiments.config import RunConfig
from lengthwise.recipes.presets import small

SEED = 1
ENCODINGS = ("learned", "coupled")
TASKS = ("add", "mul", "add%36", "add%35")

# Nothing needs ignoring with relative positions, so regularization would only cost steps.
RELATIVE = {
    "model": {
        "context": 9,
        "heads": 4,
        "embedding_std": 0.5,
        "position_std": 1.5,
        "dropout": 0.0,
        "normalized_attention": True,
    },
    "training": {"steps": 900, "batch": 48, "learning_rate": 1e-3, "weight_decay": 0.1},
}


def demo_configs() -> list[RunConfig]:
    """One run for each task and encoding; the sums of one encoding train as a stack."""
    return [demo_config(task, encoding) for encoding in ENCODINGS for task in TASKS]


def demo_config(task: str, encoding: str) -> RunConfig:
    width = {"operand_width": 3, "answer_width": 6 if task == "mul" else 4}
    config = small(task, "D1..2", "D1..3").changed(
        encoding=encoding, seed=SEED, data=width, evaluation={"problems": 5_000, "interim_problems": 300}
    )
    return config.changed(**RELATIVE) if encoding == "coupled" else config
